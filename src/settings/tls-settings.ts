import type { Secret } from '../base/index.ts';

/** How the other side of a TLS connection is checked, and what is shown to it. */
export interface TlsSettings {
  /** Certificates of the authorities to trust instead of the system's, as PEM. */
  readonly caPem: string | undefined;
  /** Name that the certificate must carry, when it is not the host of the URL. */
  readonly serverName: string | undefined;
  /** Certificate and private key to show, as PEM. */
  readonly certPem: string | undefined;
  readonly keyPem: Secret | undefined;
  /** 64 hexadecimal digits. */
  readonly fingerprintSha256: string | undefined;
  readonly insecureSkipVerify: boolean;
}
