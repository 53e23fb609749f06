import type { WebSecurity as ConfiguredSecurity } from '../config/index.ts';
import type { WebSecurity } from '../web/index.ts';

/** The configured protection of the web server, in the form that the server takes. */
export function toWebSecurity(security: ConfiguredSecurity | undefined): WebSecurity | undefined {
  if (!security?.tls) return security && { headers: security.headers, users: security.users };
  return { ...security, tls: { ...security.tls, keyPem: security.tls.keyPem.reveal() } };
}
