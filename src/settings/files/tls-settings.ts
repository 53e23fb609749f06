import { describeHost } from '../schema/describe-url.ts';
import { fingerprint } from '../schema/names.ts';
import type { Settled, SoundOf } from '../schema/parts.ts';
import { certificates, flag, secretPath, section, text } from '../schema/values.ts';
import type { Filled } from './named-files.ts';

/** Verification of the peer of a TLS connection, and the client certificate, with the content of files. */
export type TlsSettings = Settled<Filled<SoundOf<ReturnType<typeof tlsSection>>>>;

/** The same as options of a connection. */
export interface ClientTls {
  /** Certificates of the authorities to trust instead of those of the system and of Node.js, as PEM. */
  readonly caPem?: string | undefined;
  /** Name that the certificate must carry, when it is not the host of the URL. */
  readonly serverName?: string | undefined;
  /** Client certificate, as PEM. */
  readonly certPem?: string | undefined;
  /** Private key of `certPem`, as PEM, in clear text. */
  readonly keyPem?: string | undefined;
  /**
   * SHA-256 of the certificate that the other side must have: 64 hexadecimal digits. Without `caPem` no authority is needed, as
   * with the self-signed certificate of a new router.
   */
  readonly fingerprintSha256?: string | undefined;
  /** True to accept any certificate. */
  readonly insecureSkipVerify?: boolean | undefined;
}

/** Descriptions of the section and its keys, for the reference. */
export interface TlsDescriptions {
  readonly section: string;
  readonly caFile: string;
  readonly serverName: string;
  readonly certFile: string;
  readonly fingerprint: string;
  readonly insecure: string;
}

const NAME = 'the name or the IP address that stands in the certificate';

/** Builds the schema of a section `tls`. */
export function tlsSection(descriptions: TlsDescriptions) {
  return section(descriptions.section, {
    ca_file: certificates(descriptions.caFile).optional(),
    server_name: text({ description: descriptions.serverName })
      .superRefine((value, context) => {
        const found = describeHost(value);
        if (found !== undefined) context.addIssue({ code: 'custom', message: NAME, params: { found } });
      })
      .optional(),
    cert_file: certificates(descriptions.certFile).optional(),
    key_file: secretPath(
      'PEM file with the private key of `cert_file`, without a passphrase.',
      'private key',
    ).optional(),
    fingerprint_sha256: fingerprint({ description: descriptions.fingerprint }).optional(),
    insecure_skip_verify: flag({ description: descriptions.insecure }).prefault(false),
  });
}

/** Converts settings to the options of a connection. */
export function revealTls(tls: TlsSettings = {}): ClientTls {
  return {
    caPem: tls.ca_file,
    serverName: tls.server_name,
    certPem: tls.cert_file,
    keyPem: tls.key_file?.reveal(),
    fingerprintSha256: tls.fingerprint_sha256,
    insecureSkipVerify: tls.insecure_skip_verify ?? false,
  };
}

/** Returns true if any certificate is accepted. */
export function isUnverified({ insecure_skip_verify: isOpen, fingerprint_sha256: pin }: TlsSettings = {}): boolean {
  return isOpen === true && pin === undefined;
}
