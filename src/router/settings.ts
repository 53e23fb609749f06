import { choice, routerUrl, secret, secretPath, text, tlsSection } from '../settings/index.ts';
import { AUTH_MODES } from './session.ts';

/** The key `url` of a router. */
export const urlKey = routerUrl({
  description: 'Address of the router: http or https, host, port and an optional path prefix.',
});

const tls = tlsSection({
  section: 'How the certificate of an https router is checked.',
  caFile:
    'PEM file with the certificates of the authorities to trust, instead of those of the system. A self-signed certificate of a router is its own authority.',
  serverName: 'Host name that the certificate must carry. Default: the host of `url`.',
  certFile: 'PEM file with the certificate that the agent shows to a router that asks for one. With `key_file`.',
  fingerprint:
    'SHA-256 of the certificate of the router, in hexadecimal. No other certificate is accepted; without `ca_file` this one needs nobody else to vouch for it.',
  insecure: 'Accepts every certificate. Whoever stands between agent and router can then read the password.',
});

/** Keys of a router that say how it is logged in to and how its certificate is verified. */
export const connectionShape = {
  username: text({
    description: 'Account on the router. Required here or in `defaults`, but for `auth: none`.',
  }).optional(),
  password: secret({
    description:
      'Password of the account. This or `password_file` is required, here or in `defaults`, but for `auth: none`.',
  }).optional(),
  password_file: secretPath(
    'File that holds the password; one line end after it is ignored. Instead of `password`.',
  ).optional(),
  auth: choice(
    {
      description:
        'How requests are authenticated: `token` logs in, `basic` sends the password with every request, `none` is for devices without users.',
    },
    AUTH_MODES,
  ).prefault('token'),
  tls: tls.optional(),
};
