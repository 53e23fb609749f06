import type { TLSSocket } from 'node:tls';
import { buildConnector } from 'undici';
import { RouterError } from './errors.ts';

/** How a router's certificate is checked, and which one is shown to it. */
export interface RouterTls {
  /** Authorities that are trusted instead of the machine's own, as PEM. */
  readonly caPem?: string | undefined;
  /** The name that the certificate must carry, when it is not the host of the url. */
  readonly serverName?: string | undefined;
  /** Certificate and key of the client, as PEM, for routers that ask for one. */
  readonly certPem?: string | undefined;
  readonly keyPem?: string | undefined;
  /**
   * SHA-256 of the router's certificate, as hex with or without colons. The certificate must be this one; without
   * `caPem` it needs nobody else to vouch for it, as with the self-signed one of a fresh router.
   */
  readonly fingerprintSha256?: string | undefined;
  /** Accepts any certificate. Default false. */
  readonly insecureSkipVerify?: boolean | undefined;
}

/** Creates what opens connections to one router. A certificate that is not trusted ends them before anything is sent. */
export function createConnector(tls: RouterTls, timeoutMs: number): buildConnector.connector {
  const { caPem, serverName, certPem, keyPem, fingerprintSha256, insecureSkipVerify } = tls;
  const isPinnedOnly = fingerprintSha256 !== undefined && caPem === undefined;
  const connect = buildConnector({
    timeout: timeoutMs,
    ...(caPem !== undefined && { ca: caPem }),
    ...(serverName !== undefined && { servername: serverName }),
    ...(certPem !== undefined && { cert: certPem }),
    ...(keyPem !== undefined && { key: keyPem }),
    rejectUnauthorized: insecureSkipVerify !== true && !isPinnedOnly,
    // A resumed connection shows no certificate that could be compared.
    ...(fingerprintSha256 !== undefined && { maxCachedSessions: 0 }),
  });
  if (fingerprintSha256 === undefined) return connect;
  return (options, callback) =>
    connect(options, (...result) => {
      const [error, socket] = result;
      if (error || options.protocol !== 'https:') return callback(...result);
      const { fingerprint256 } = (socket as TLSSocket).getPeerCertificate();
      if (toHex(fingerprint256) === toHex(fingerprintSha256)) return callback(...result);
      socket.destroy();
      callback(toFingerprintError(fingerprint256), null);
    });
}

function toHex(fingerprint: string): string {
  return fingerprint.replaceAll(':', '').toLowerCase();
}

function toFingerprintError(found: string): RouterError {
  return new RouterError('tls', `The router's certificate has another fingerprint: ${found}`, {
    disposition: 'operator',
    hint: 'If the certificate was renewed, put this fingerprint into tls.fingerprint_sha256 of this router',
    isUnsent: true,
  });
}
