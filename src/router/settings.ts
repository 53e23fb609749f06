import { choice, routerUrl, secretShape, text, tlsSection } from '../settings/index.ts';
import { AUTH_MODES } from './requests/session.ts';

/** The key `url` of a router. */
export const urlKey = routerUrl({
  description: 'Address of the router: http or https, host, port and an optional path prefix.',
});

const tls = tlsSection({
  section: 'How the certificate of an https router is verified.',
  caFile:
    'PEM file with the certificates of the authorities to trust, instead of those of the system. A self-signed certificate of a router is its own authority.',
  serverName: 'Host name expected in the certificate. Default: the host of `url`.',
  certFile: 'PEM file with the client certificate. Requires `key_file`.',
  fingerprint:
    'SHA-256 of the certificate of the router, in hexadecimal. No other certificate is accepted; without `ca_file` it needs no authority.',
  insecure: 'Accepts every certificate. Anyone between agent and router can then read the password.',
});

/** Keys of a router for the login and the verification of its certificate. */
export const connectionShape = {
  username: text({
    description: 'Account on the router. Required here or in `defaults`, except with `auth: none`.',
  }).optional(),
  ...secretShape('password', {
    description:
      'Password of the account. This, or one of the three keys that replace it, is required, here or in `defaults`, except with `auth: none`.',
    what: 'password',
  }),
  auth: choice(
    {
      description:
        'How requests are authenticated: `token` logs in, `basic` sends the password with every request, `none` is for devices without users.',
    },
    AUTH_MODES,
  ).prefault('token'),
  tls: tls.optional(),
};
