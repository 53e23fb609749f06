import type { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import type { SecureContext, TLSSocket } from 'node:tls';
import {
  explainTls,
  findOtherFingerprint,
  isAuthorityNeeded,
  openSecureContext,
  type TlsFailure,
} from '../../net/index.ts';
import type { ClientTls } from '../../settings/index.ts';
import { RouterError, toTlsError } from '../errors.ts';

/** TLS settings of a router: how its certificate is verified, and the client certificate. */
export type RouterTls = ClientTls;

/** Checks the certificate of a full handshake beyond what the TLS library has checked; returns the error, if any. */
export function findTrustFault(tls: RouterTls, certificate: X509Certificate | undefined): RouterError | undefined {
  const found = findOtherFingerprint(tls, certificate);
  if (found === undefined) return undefined;
  return new RouterError('tls', `The router's certificate has another fingerprint: ${found}`, {
    disposition: 'operator',
    hint: 'If the certificate was renewed, put this fingerprint into tls.fingerprint_sha256 of this router',
    isUnsent: true,
  });
}

/** Returns the TLS context of a router's settings. Throws {@link RouterError} if its certificates cannot be used. */
export function openTrustedContext(tls: RouterTls, groups?: string): SecureContext {
  try {
    return openSecureContext(tls, groups);
  } catch (cause) {
    throw new RouterError('tls', 'The certificates that are configured for this router cannot be used', {
      disposition: 'operator',
      hint: 'Check tls.ca_file, tls.cert_file and tls.key_file of this router',
      cause,
      isUnsent: true,
    });
  }
}

/** Facts of a router's certificate when it was last verified. Times are Unix milliseconds. */
export interface RouterCertificate {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** Hexadecimal with colons, one of the forms of `tls.fingerprint_sha256`. */
  readonly fingerprintSha256: string;
}

/** Decodes a certificate; `undefined` without one or if its times cannot be read. */
export function decodeCertificate(certificate: X509Certificate | undefined): RouterCertificate | undefined {
  if (!certificate) return undefined;
  const notBeforeMs = parseCertificateTime(certificate.validFrom);
  const notAfterMs = parseCertificateTime(certificate.validTo);
  if (notBeforeMs === undefined || notAfterMs === undefined) return undefined;
  return { notBeforeMs, notAfterMs, fingerprintSha256: certificate.fingerprint256 };
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
/** `Dec 31 23:59:59 2049 GMT`; days below ten follow two spaces, seconds may have a fraction, the zone may be missing. */
const TIME =
  /^(?<month>[A-Z][a-z]{2}) {1,2}(?<day>\d{1,2}) (?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)(\.\d{1,9})? (?<year>\d{4})( GMT)?$/;

/** Parses the time of a certificate as printed by OpenSSL, as Unix milliseconds; `undefined` for anything else. */
export function parseCertificateTime(text: string): number | undefined {
  const groups = TIME.exec(text)?.groups;
  const month = MONTHS.indexOf(groups?.['month'] ?? '');
  if (!groups || month < 0) return undefined;
  const [day, hour, minute, second, year] = ['day', 'hour', 'minute', 'second', 'year'].map((name) =>
    Number(groups[name]),
  );
  const time = Date.UTC(year ?? Number.NaN, month, day, hour, minute, second);
  // Date.UTC() adds 1900 to years below 100.
  return Number.isNaN(time) || (year ?? 0) < 1000 ? undefined : time;
}

/** A certificate as the router sent it, trusted or not. The texts are bounded and have no control characters. */
export interface ShownCertificate extends RouterCertificate {
  /** Such as `CN=plant-7, O=Insys`. */
  readonly subject: string;
  readonly issuer: string;
  /** Host names and addresses that it is for; without addresses that stand as host names, which no client takes. */
  readonly names: readonly string[];
}

/** Limits for the texts of a certificate and the number of its names. */
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
    names: names.flatMap((entry) => {
      const [, type, value] = /^(DNS|IP Address):(.+)$/.exec(entry) ?? [];
      const name = clean(value);
      return name === '' || (type === 'DNS' && isIP(name) !== 0) ? [] : [name];
    }),
  };
}

/** Cleans a distinguished name, whose parts are on separate lines. */
function clean(text: string | undefined): string {
  const line = (text ?? '').trim().replaceAll('\n', ', ');
  return line.replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' ').slice(0, TEXT_LENGTH_MAX);
}

/**
 * Returns the reason why the client would reject the certificate of this connection; `undefined` if it would accept it. The
 * connection was opened with `rejectUnauthorized: false` and otherwise like the client's own.
 */
export function judgeTrust(
  socket: TLSSocket,
  tls: RouterTls,
  certificate: X509Certificate | undefined,
): RouterError | undefined {
  const isOtherOne = findTrustFault(tls, certificate);
  if (isOtherOne || !isAuthorityNeeded(tls) || socket.authorized) return isOtherOne;
  // Declared as an Error, but it is an error code.
  const code = String(socket.authorizationError);
  const failure = explainTls(readVerifyError(socket) ?? Object.assign(new Error(code), { code }), 'router');
  const shown = decodeShownCertificate(certificate);
  if (!failure) return new RouterError('tls', `The router's certificate is not trusted: ${code}`, UNTRUSTED);
  return toTlsError({ ...failure, hint: renderHint(failure, tls, shown) }, CHECK);
}

/** Returns the error of the check of the certificate: it alone says what is weak. */
function readVerifyError(socket: TLSSocket): unknown {
  const handle: unknown = Reflect.get(socket, '_handle');
  const read: unknown = typeof handle === 'object' && handle !== null && Reflect.get(handle, 'verifyError');
  const error: unknown = typeof read === 'function' ? Reflect.apply(read, handle, []) : undefined;
  return error ?? undefined;
}

function renderHint({ cure, hint }: TlsFailure, tls: RouterTls, shown: ShownCertificate | undefined): string {
  if (!shown) return hint;
  const pin = `${tls.caPem === undefined ? '' : 'without tls.ca_file, '}trust this one alone: ${renderPin(shown)}`;
  switch (cure) {
    case 'name':
      return renderNameHint(shown) ?? `It has no name that tls.server_name could be, so ${pin}`;
    case 'authority':
      return renderTrustHint(tls, shown);
    case 'renewal':
      return tls.caPem === undefined ? `${hint}. Until then, ${pin}` : hint;
    case 'strength':
      return `${hint}: ${renderPin(shown)}`;
    case undefined:
      return hint;
  }
}

function renderPin({ fingerprintSha256 }: ShownCertificate): string {
  return `tls: { fingerprint_sha256: "${fingerprintSha256}" }. Compare it first with the device`;
}

/** Name of the check in errors that are not about the certificate. */
const CHECK = 'The check of the certificate';
const UNTRUSTED = { disposition: 'operator', isUnsent: true } as const;

/** `undefined` if there is no name that tls.server_name could be: an address counts only where it stands as one. */
function renderNameHint({ names, subject }: ShownCertificate): string | undefined {
  if (names.length > 0) return `Put one of its names into tls.server_name of this router: ${names.join(', ')}`;
  const name = /(?:^|, )CN=([^,]+)/.exec(subject)?.[1];
  if (name === undefined || isIP(name) !== 0) return undefined;
  return `Put its name into tls.server_name of this router: ${name}`;
}

function renderTrustHint({ caPem, fingerprintSha256 }: RouterTls, shown: ShownCertificate): string {
  const authority = 'Put the certificate of its authority into the file of tls.ca_file';
  // With tls.ca_file an authority must sign the certificate even if the fingerprint is pinned.
  const instead = caPem === undefined ? 'or' : 'or, without tls.ca_file,';
  if (fingerprintSha256 !== undefined) return `${authority}, or leave tls.ca_file away: the fingerprint is enough`;
  return `${authority}, ${instead} trust this one: ${renderPin(shown)}`;
}
