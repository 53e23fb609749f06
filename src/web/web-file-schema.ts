import { z } from 'zod';
import type { SoundOf } from '../settings/index.ts';
import { choice, findNearest, flag, section, text, unsupported } from '../settings/index.ts';
import { BCRYPT_COST_MAX, CIPHER_SUITES } from './security.ts';

/** Basic authentication is for a few users. */
const USERS_MAX = 100;
/** Names in certificates of clients that may come in. */
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

const tlsServerSchema = section('HTTPS instead of HTTP. Certificates are read at the start and at a reload.', {
  cert_file: text({
    description: 'PEM file with the certificate of the server, then those that vouch for it. Required for HTTPS.',
    kind: 'path',
  }).optional(),
  key_file: text({
    description: 'PEM file with the private key of `cert_file`, without a passphrase. Required for HTTPS.',
    kind: 'path',
  }).optional(),
  client_auth_type: choice(
    {
      description:
        'Whether clients have to show a certificate. Only `RequireAndVerifyClientCert` keeps strangers out: the others ask for none, or take any.',
      default: 'NoClientCert',
    },
    [
      'NoClientCert',
      'RequestClientCert',
      'RequireAnyClientCert',
      'RequireClientCert',
      'VerifyClientCertIfGiven',
      'RequireAndVerifyClientCert',
    ],
  ).optional(),
  client_ca_file: text({
    description:
      "PEM file with the authorities that vouch for clients' certificates. Required where these are verified.",
    kind: 'path',
  }).optional(),
  client_allowed_sans: z
    .array(text({ description: 'Name of a client.' }), { error: NAMES })
    .min(1, { error: NAMES })
    .max(ALLOWED_SANS_MAX, { error: NAMES })
    .meta({
      description:
        'Names (DNS, IP address, e-mail, URI) of which the certificate of a client must have one. Only with `RequireAnyClientCert` or `RequireAndVerifyClientCert`.',
      kind: 'list of texts',
    })
    .optional(),
  min_version: version('Oldest version of TLS.', 'TLS12'),
  max_version: version('Newest version of TLS.', 'TLS13'),
  cipher_suites: z
    .array(suite, { error: SUITES })
    .meta({
      description: 'Cipher suites of TLS 1.2, best first. Those of TLS 1.3 are always on. Default: those of Node.js.',
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
});

const HEADER = 'the value of a header: printable characters of ASCII';

function header(description: string) {
  return z
    .string({ error: HEADER })
    .regex(/^[\x20-\x7e]*$/, { error: HEADER })
    .meta({ description, kind: 'text' })
    .optional();
}

const httpServerSchema = section('The HTTP server.', {
  http2: flag({ description: 'Accepted without effect: the server speaks HTTP/1.1.' }).optional(),
  headers: section('Headers that are added to every answer. An empty value adds none.', {
    'Content-Security-Policy': header('Says which content a browser may load.'),
    'Strict-Transport-Security': header('Tells browsers to use HTTPS alone from now on.'),
    'X-Content-Type-Options': choice({ description: 'Forbids browsers to guess the type of an answer.' }, [
      'nosniff',
    ]).optional(),
    'X-Frame-Options': choice({ description: 'Forbids other pages to show this one in a frame.' }, [
      'deny',
      'sameorigin',
    ]).optional(),
    'X-XSS-Protection': header('Sets a filter of old browsers.'),
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
    z.string({ error: HASH }).refine(isBcryptHash, { error: HASH }),
    { error: 'a map of users and bcrypt hashes' },
  )
  .refine((users) => Object.keys(users).length <= USERS_MAX, { error: `at most ${USERS_MAX} users` })
  .meta({
    description: 'Users who may come in with their passwords, as bcrypt hashes. None: everybody may.',
    kind: 'map of users to bcrypt hashes',
  });

/** The file that `web.config_file` names, in the format of the Prometheus exporters. */
export const webSchema = section('TLS, users and headers of the server.', {
  tls_server_config: tlsServerSchema.nullable().optional(),
  http_server_config: httpServerSchema.nullable().optional(),
  basic_auth_users: usersSchema.nullable().optional(),
  rate_limit: unsupported('a scrape is answered from memory; put a proxy before the agent to limit clients'),
});

/** What is sound of the file. */
export type WebFileSettings = SoundOf<typeof webSchema>;

function isBcryptHash(hash: string): boolean {
  const match = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/.exec(hash);
  const cost = Number(match?.[1]);
  return match !== null && cost >= 4 && cost <= BCRYPT_COST_MAX;
}
