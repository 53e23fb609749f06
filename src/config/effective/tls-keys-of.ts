import type { TlsSettings } from '../../settings/index.ts';

/** How TLS is checked, by the keys of the configuration file; `undefined` where nothing was said. */
export function toTlsKeys(tls: TlsSettings): object | undefined {
  const keys = {
    ca_file:
      tls.caPem === undefined ? undefined : `[${tls.caPem.split('-----BEGIN CERTIFICATE').length - 1} certificates]`,
    server_name: tls.serverName,
    cert_file: tls.certPem === undefined ? undefined : '[certificate]',
    key_file: tls.keyPem,
    fingerprint_sha256: tls.fingerprintSha256,
    insecure_skip_verify: tls.insecureSkipVerify || undefined,
  };
  return Object.values(keys).every((value) => value === undefined) ? undefined : keys;
}
