import type { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import { isAuthorityNeeded } from '../net/index.ts';
import { decodeCertificate, type RouterCertificate } from './certificate.ts';
import { RouterError } from './errors.ts';
import { findTrustFault, type RouterTls } from './trust.ts';

/** A certificate as a router showed it, trusted or not. The texts are untrusted: bounded and without control characters. */
export interface ShownCertificate extends RouterCertificate {
  /** Such as `CN=plant-7, O=Insys`. */
  readonly subject: string;
  readonly issuer: string;
  /** Host names and addresses that it is for. */
  readonly names: readonly string[];
}

/** Longest text of a certificate that is shown, and most of its names. */
const TEXT_LENGTH_MAX = 200;
const NAMES_MAX = 20;

/** Describes a certificate; `undefined` if there is none or it cannot be read. */
export function decodeShownCertificate(certificate: X509Certificate | undefined): ShownCertificate | undefined {
  const known = decodeCertificate(certificate);
  if (!certificate || !known) return undefined;
  const names = (certificate.subjectAltName ?? '').split(', ').slice(0, NAMES_MAX);
  return {
    ...known,
    subject: clean(certificate.subject),
    issuer: clean(certificate.issuer),
    names: names.map((name) => clean(name.replace(/^(DNS|IP Address):/, ''))).filter((name) => name !== ''),
  };
}

/** The parts of a name stand on lines of their own. */
function clean(text: string | undefined): string {
  const line = (text ?? '').trim().replaceAll('\n', ', ');
  return line.replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' ').slice(0, TEXT_LENGTH_MAX);
}

const WRONG_NAME = 'ERR_TLS_CERT_ALTNAME_INVALID';
/** Explanations of the codes of the TLS library. */
const REASONS: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'it is signed by itself, not by an authority',
  SELF_SIGNED_CERT_IN_CHAIN: 'its authority is not a trusted one',
  UNABLE_TO_GET_ISSUER_CERT: 'its authority is not a trusted one',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its authority is not a trusted one',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its authority is not a trusted one',
  CERT_SIGNATURE_FAILURE: 'its authority is not a trusted one, although it has the same name',
  CERT_HAS_EXPIRED: 'it has expired',
  CERT_NOT_YET_VALID: 'it is not valid yet; perhaps a clock is wrong',
  [WRONG_NAME]: 'it is for another name',
};

/**
 * Returns the reason why the product would end this connection, which was opened with `rejectUnauthorized: false` and otherwise as the product
 * opens its own; `undefined` when it would not.
 */
export function judgeTrust(
  socket: TLSSocket,
  tls: RouterTls,
  certificate: X509Certificate | undefined,
): RouterError | undefined {
  const isOtherOne = findTrustFault(tls, certificate);
  if (isOtherOne || !isAuthorityNeeded(tls) || socket.authorized) return isOtherOne;
  // The types promise an Error; it is the code of one.
  const code = String(socket.authorizationError);
  const shown = decodeShownCertificate(certificate);
  return new RouterError('tls', `The router's certificate is not trusted: ${REASONS[code] ?? code}`, {
    disposition: 'operator',
    hint: code === WRONG_NAME && shown ? renderNameHint(shown) : renderTrustHint(tls, shown),
    isUnsent: true,
  });
}

function renderNameHint({ names, subject }: ShownCertificate): string {
  if (names.length === 0) return `Put the name in ${subject} into tls.server_name of this router`;
  return `Put one of its names into tls.server_name of this router: ${names.join(', ')}`;
}

function renderTrustHint({ caPem, fingerprintSha256 }: RouterTls, shown: ShownCertificate | undefined): string {
  const authority = 'Put the certificate of its authority into the file of tls.ca_file';
  if (!shown) return authority;
  // An authority that is named has to vouch for the certificate even where its fingerprint is given.
  const instead = caPem === undefined ? 'or' : 'or, without tls.ca_file,';
  if (fingerprintSha256 !== undefined) return `${authority}, or leave tls.ca_file away: the fingerprint is enough`;
  return `${authority}, ${instead} trust this one: tls: { fingerprint_sha256: "${shown.fingerprintSha256}" }`;
}
