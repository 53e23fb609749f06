import { z } from 'zod';
import type { SoundOf } from '../settings/index.ts';
import {
  choice,
  durationOrNone,
  findNearest,
  flag,
  secretPath,
  section,
  text,
  unsupported,
  wholeNumber,
  withSecrecy,
} from '../settings/index.ts';
import { BCRYPT_COST_MAX, CIPHER_SUITES } from './security.ts';

/** Maximum number of users: basic authentication is meant for a few. */
const USERS_MAX = 100;
/** Maximum number of allowed names in client certificates. */
const ALLOWED_SANS_MAX = 100;

const SUITES = 'a list of names of cipher suites';
const SUITE =
  'a cipher suite with forward secrecy by its name in the list of IANA, such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256';

const suite = z.string({ error: SUITE }).superRefine((value, context) => {
  if (CIPHER_SUITES.includes(value)) return;
  context.addIssue({ code: 'custom', message: SUITE, params: { nearest: findNearest(value, CIPHER_SUITES) } });
});

const NAMES = `a list of 1 to ${ALLOWED_SANS_MAX} names`;
const VERSION = '"TLS12" or "TLS13"; older versions are broken and not supported';

function version(description: string, fallback: string) {
  return z.enum(['TLS12', 'TLS13'], { error: VERSION }).meta({ description, default: fallback }).optional();
}

const inline = (key: string) => unsupported(`name a file with "${key}"`);

const tlsServerSchema = section(
  'HTTPS instead of HTTP. Certificates are read at the start, on reload and when they change.',
  {
    cert_file: text({
      description: 'PEM file with the server certificate, followed by its intermediates. Required for HTTPS.',
      kind: 'path',
    }).optional(),
    key_file: secretPath(
      'PEM file with the private key of `cert_file`, without a passphrase. Required for HTTPS.',
      'private key',
    ).optional(),
    client_auth_type: choice(
      {
        description:
          'Client certificate policy. Only `RequireAndVerifyClientCert` restricts access: the others ask for no certificate, or do not require a valid one.',
      },
      [
        'NoClientCert',
        'RequestClientCert',
        'RequireAnyClientCert',
        'RequireClientCert',
        'VerifyClientCertIfGiven',
        'RequireAndVerifyClientCert',
      ],
    ).prefault('NoClientCert'),
    client_ca_file: text({
      description:
        'PEM file with the CA certificates that sign client certificates. Required where these are verified.',
      kind: 'path',
    }).optional(),
    client_allowed_sans: z
      .array(text({ description: 'Allowed name of a client.' }), { error: NAMES })
      .min(1, { error: NAMES })
      .max(ALLOWED_SANS_MAX, { error: NAMES })
      .meta({
        description:
          'Allowed names (DNS, IP address, e-mail, URI): a client certificate must contain one of them. Only with `RequireAnyClientCert` or `RequireAndVerifyClientCert`.',
        kind: 'list of texts',
      })
      .optional(),
    min_version: version('Minimum TLS version.', 'TLS12'),
    max_version: version('Maximum TLS version.', 'TLS13'),
    cipher_suites: z
      .array(suite, { error: SUITES })
      .meta({
        description:
          'TLS 1.2 cipher suites, preferred first. Those of TLS 1.3 are always on. Default: those of Node.js.',
        kind: 'list of names',
      })
      .optional(),
    prefer_server_cipher_suites: flag({
      description: 'Accepted without effect, as in the Prometheus exporters.',
    }).optional(),
    cert: inline('cert_file'),
    key: inline('key_file'),
    client_ca: inline('client_ca_file'),
    curve_preferences: unsupported('the curves are those of Node.js'),
  },
);

const HEADER = 'the value of a header: printable characters of ASCII';

function header(description: string) {
  return z
    .string({ error: HEADER })
    .regex(/^[\x20-\x7e]*$/, { error: HEADER })
    .meta({ description, kind: 'text' })
    .optional();
}

const httpServerSchema = section('The HTTP server.', {
  http2: flag({ description: 'Accepted without effect: the server speaks only HTTP/1.1.' }).optional(),
  headers: section('Headers added to every response. An empty value adds none.', {
    'Content-Security-Policy': header('Restricts the content that a browser may load.'),
    'Strict-Transport-Security': header('Tells browsers to use only HTTPS from now on.'),
    'X-Content-Type-Options': choice({ description: 'Forbids browsers to guess the content type.' }, [
      'nosniff',
    ]).optional(),
    'X-Frame-Options': choice({ description: 'Forbids other pages to show this one in a frame.' }, [
      'deny',
      'sameorigin',
    ]).optional(),
    'X-XSS-Protection': header('Configures the XSS filter of old browsers.'),
  }).optional(),
});

const USER = 'a name of a user without ":" and control characters';
const HASH = `the bcrypt hash of a password: $2a$, $2b$ or $2y$, a cost from 04 to ${BCRYPT_COST_MAX}, and 53 characters, as "htpasswd -nBC 10 USER" writes it`;

const usersSchema = z
  .record(
    z
      .string()
      .min(1, { error: USER })
      .regex(/^[^:\p{Cc}]*$/u, { error: USER }),
    withSecrecy('possible', z.string({ error: HASH }).refine(isBcryptHash, { error: HASH })),
    { error: 'a map of users and bcrypt hashes' },
  )
  .refine((users) => Object.keys(users).length <= USERS_MAX, { error: `at most ${USERS_MAX} users` })
  .meta({
    description: 'Users allowed to log in (bcrypt hashes of their passwords). If empty, access is open.',
    kind: 'map of users to bcrypt hashes',
  });

/** A request a day; a longer time would be a mistake. */
const RATE_INTERVAL_MS_MAX = 86_400_000;
const RATE_BURST_MAX = 1_000_000;

const rateLimitSchema = section(
  'Limits the requests of all clients together. One too many gets 429, before its password is checked; `/-/healthy` is not limited.',
  {
    interval: durationOrNone(
      { description: 'Time between two requests, on average. `0`: no limit.', default: '0' },
      1,
      RATE_INTERVAL_MS_MAX,
    ).optional(),
    burst: wholeNumber(
      { description: 'Requests that are answered at once after a rest. Required with an `interval`.' },
      0,
      RATE_BURST_MAX,
    ).optional(),
  },
);

/** The file that `web.config_file` names, in the format of the Prometheus exporters. */
export const webSchema = section('TLS, users and headers of the server.', {
  tls_server_config: tlsServerSchema.nullable().optional(),
  http_server_config: httpServerSchema.nullable().optional(),
  basic_auth_users: usersSchema.nullable().optional(),
  rate_limit: rateLimitSchema.nullable().optional(),
});

/** The valid settings of the file. */
export type WebFileSettings = SoundOf<typeof webSchema>;

function isBcryptHash(hash: string): boolean {
  const match = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/.exec(hash);
  const cost = Number(match?.[1]);
  return match !== null && cost >= 4 && cost <= BCRYPT_COST_MAX;
}
