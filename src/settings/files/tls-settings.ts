import type { Secret } from '../../base/index.ts';
import { describeHost } from '../schema/describe-url.ts';
import { fingerprint } from '../schema/names.ts';
import type { SoundOf } from '../schema/parts.ts';
import { flag, secretPath, section, text } from '../schema/values.ts';
import type { Place } from '../source/config-file.ts';
import type { NamedFileReader, TlsFiles } from './named-files.ts';

/** Verification of the peer of a TLS connection, and the client certificate. */
export interface TlsSettings {
  /** Certificates of the authorities to trust instead of those of the system and of Node.js, as PEM. */
  readonly caPem: string | undefined;
  /** Name that the certificate must carry, when it is not the host of the URL. */
  readonly serverName: string | undefined;
  /** Client certificate, as PEM. */
  readonly certPem: string | undefined;
  /** Private key of `certPem`, as PEM. */
  readonly keyPem: Secret | undefined;
  /**
   * SHA-256 of the certificate that the other side must have: 64 hexadecimal digits. Without `caPem` no authority is needed, as
   * with the self-signed certificate of a new router.
   */
  readonly fingerprintSha256: string | undefined;
  /** True to accept any certificate. */
  readonly insecureSkipVerify: boolean;
}

/** The same as options of a connection: every key is optional, and the private key is in clear text. */
export type ClientTls = Partial<Omit<TlsSettings, 'keyPem'> & { readonly keyPem: string | undefined }>;

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
    ca_file: text({ description: descriptions.caFile, kind: 'path' }).optional(),
    server_name: text({ description: descriptions.serverName })
      .superRefine((value, context) => {
        const found = describeHost(value);
        if (found !== undefined) context.addIssue({ code: 'custom', message: NAME, params: { found } });
      })
      .optional(),
    cert_file: text({ description: descriptions.certFile, kind: 'path' }).optional(),
    key_file: secretPath('PEM file with the private key of `cert_file`, without a passphrase.').optional(),
    fingerprint_sha256: fingerprint({ description: descriptions.fingerprint }).optional(),
    insecure_skip_verify: flag({ description: descriptions.insecure }).prefault(false),
  });
}

/** The valid keys of the section. */
export type WrittenTls = SoundOf<ReturnType<typeof tlsSection>>;

/** Reads the files of the section at `place`, and applies the defaults. */
export async function readTls(place: Place, tls: WrittenTls = {}, reader: NamedFileReader): Promise<TlsSettings> {
  return toTlsSettings(tls, await reader.readTls(place, tls));
}

/** Combines the keys of the section with the content of its files, and applies the defaults. */
export function toTlsSettings(tls: WrittenTls, { caPem, certPem, keyPem }: TlsFiles): TlsSettings {
  return {
    caPem,
    serverName: tls.server_name,
    certPem,
    keyPem,
    fingerprintSha256: tls.fingerprint_sha256,
    insecureSkipVerify: tls.insecure_skip_verify ?? false,
  };
}

/** Renders settings as the section, with the content of files summarised in brackets; `undefined` when all are defaults. */
export function renderTls(tls: TlsSettings): object | undefined {
  const { caPem, certPem } = tls;
  const keys = {
    ca_file: renderCertificates(caPem),
    server_name: tls.serverName,
    cert_file: certPem && '[certificate]',
    key_file: tls.keyPem?.toString(),
    fingerprint_sha256: tls.fingerprintSha256,
    insecure_skip_verify: tls.insecureSkipVerify || undefined,
  };
  return Object.values(keys).every((value) => value === undefined) ? undefined : keys;
}

/** Summarises certificates in brackets; `undefined` without any. */
export function renderCertificates(pem: string | undefined): string | undefined {
  const count = (pem ?? '').split('-----BEGIN CERTIFICATE').length - 1;
  return pem && `[${count} certificate${count === 1 ? '' : 's'}]`;
}

/** Converts settings to the options of a connection, with the key in clear text. */
export function revealTls({ keyPem, ...tls }: TlsSettings): ClientTls {
  return { ...tls, keyPem: keyPem?.reveal() };
}
