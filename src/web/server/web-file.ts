import { createPrivateKey, X509Certificate } from 'node:crypto';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { z } from 'zod';
import {
  CONFIG_FILE_BYTES_MAX,
  type ConfigFault,
  type ConfigFile,
  ConfigFiles,
  checkSettings,
  choice,
  durationOrNone,
  findNearest,
  flag,
  NamedFileReader,
  type RootExpected,
  readTextFile,
  renderFileFault,
  type SoundOf,
  secretPath,
  section,
  type TextFile,
  text,
  unsupported,
  wholeNumber,
  withSecrecy,
} from '../../settings/index.ts';
import type { RateLimitSettings } from './limits.ts';
import { CIPHER_SUITES, type WebClientAuth, type WebSecurity, type WebTls } from './security.ts';

/** A comparison at this cost takes 30 s; each further step doubles that. */
export const BCRYPT_COST_MAX = 18;
/** Basic authentication is meant for a few users. */
const USERS_MAX = 100;
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
          'Allowed names (DNS, IP address, e-mail, URI): a client certificate must contain one of them. Only with one of the `Require…` policies.',
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
    'Strict-Transport-Security': header('Makes browsers use only HTTPS from now on.'),
    'X-Content-Type-Options': choice({ description: 'Forbids browsers to sniff the content type.' }, [
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

/** One request a day; a longer time would be a mistake. */
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
      {
        description:
          'Requests that are answered at once after a rest. Required with an `interval`. A page takes three when a browser first shows one: itself, style sheet and script.',
      },
      0,
      RATE_BURST_MAX,
    ).optional(),
  },
);

/** Schema of the file that `web.config_file` names. The schema of the section `web` is `webSectionSchema`. */
export const webFileSchema = section('TLS, users and headers of the server.', {
  tls_server_config: tlsServerSchema.nullable().optional(),
  http_server_config: httpServerSchema.nullable().optional(),
  basic_auth_users: usersSchema.nullable().optional(),
  rate_limit: rateLimitSchema.nullable().optional(),
});

type WebFileSettings = SoundOf<typeof webFileSchema>;

function isBcryptHash(hash: string): boolean {
  const match = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/.exec(hash);
  const cost = Number(match?.[1]);
  return match !== null && cost >= 4 && cost <= BCRYPT_COST_MAX;
}

interface WebFiles {
  /** The file itself and the certificate files that it names, faulty or not. Absolute paths. */
  readonly watched: readonly string[];
}

/** The security settings of the server, or all faults of the file in line order. `watched`: files to read again when they change. */
export type LoadedWebConfig =
  | ({
      readonly ok: true;
      readonly security: WebSecurity;
      /** Such as files that other users may write. */
      readonly warnings: readonly ConfigFault[];
    } & WebFiles)
  | ({ readonly ok: false; readonly faults: readonly ConfigFault[] } & WebFiles);

interface ReadWebConfig extends WebFiles {
  /** `undefined` if the file is faulty. */
  readonly security: WebSecurity | undefined;
}

type TlsServer = NonNullable<WebFileSettings['tls_server_config']>;

const WEB_ROOT: RootExpected = {
  kind: 'map',
  expected: 'a map of keys such as "tls_server_config:"',
  // Such a file is meant to protect the server, and an empty one does not.
  ifEmpty: 'write "{}" for a server without protection',
  schema: webFileSchema,
};

const CLIENT_AUTH: Readonly<Record<NonNullable<TlsServer['client_auth_type']>, WebClientAuth>> = {
  NoClientCert: 'none',
  RequestClientCert: 'request',
  RequireAnyClientCert: 'require-any',
  RequireClientCert: 'require-any',
  VerifyClientCertIfGiven: 'verify-if-given',
  RequireAndVerifyClientCert: 'require-and-verify',
};

/**
 * Reads and checks a file in the format of the Prometheus exporters (`web.config_file`) and every file that it refers to. Never rejects.
 * Environment variables are not expanded, because other programs read such files verbatim.
 */
export async function loadWebConfig(path: string): Promise<LoadedWebConfig> {
  await using files = new ConfigFiles();
  const content = await readTextFile(path, CONFIG_FILE_BYTES_MAX);
  if (!content.ok) files.refuse(path, `The web configuration file ${content.reason}`);
  const { security, watched } = content.ok
    ? await parseWebSecurity(path, path, content, files)
    : { security: undefined, watched: [path] };
  const { faults } = files;
  return security && faults.length === 0
    ? { ok: true, security, watched, warnings: files.warnings }
    : { ok: false, faults, watched };
}

/** Reads the `web.config_file` of the main file. */
export async function readWebSecurity(main: ConfigFile, name: string, files: ConfigFiles): Promise<ReadWebConfig> {
  const path = resolve(main.folder, name);
  const content = await readTextFile(path, CONFIG_FILE_BYTES_MAX);
  if (content.ok) {
    const shownName = isAbsolute(name) ? name : join(dirname(main.name), name);
    return parseWebSecurity(shownName, path, content, files);
  }
  const place = ['web', 'config_file'];
  main.faults.add(place, renderFileFault(main, place, !isAbsolute(name), content.reason));
  return { security: undefined, watched: [path] };
}

async function parseWebSecurity(
  name: string,
  path: string,
  content: TextFile & { readonly ok: true },
  files: ConfigFiles,
): Promise<ReadWebConfig> {
  const file = await files.parse(name, path, content, WEB_ROOT);
  const settings = file && (await checkSettings(file, undefined, webFileSchema));
  if (!file || !settings) return { security: undefined, watched: [path] };
  const headers = Object.entries(settings.http_server_config?.headers ?? {}).flatMap(([key, value]) =>
    value === undefined || value === '' ? [] : [[key, value] as const],
  );
  const { cert_file, key_file, client_ca_file } = settings.tls_server_config ?? {};
  const named = [cert_file, key_file, client_ca_file].filter((one) => one !== undefined);
  return {
    security: {
      tls: await readTls(settings.tls_server_config ?? {}, file),
      headers: Object.fromEntries(headers),
      users: new Map(Object.entries(settings.basic_auth_users ?? {})),
      rateLimit: readRateLimit(settings.rate_limit ?? {}, file),
    },
    watched: [path, ...named.map((one) => resolve(file.folder, one))],
  };
}

function readRateLimit(
  { interval = 0, burst = 0 }: NonNullable<WebFileSettings['rate_limit']>,
  file: ConfigFile,
): RateLimitSettings | undefined {
  if (interval === 0) return undefined;
  if (burst > 0) return { intervalMs: interval, burst };
  const path = ['rate_limit', 'burst'];
  const isWrong = file.source.valueAt(path) !== undefined;
  const message = 'no request at all would be answered; write at least 1';
  file.faults.add(path, isWrong ? `With 0, ${message}` : `Missing key; without it, ${message}`);
  return undefined;
}

async function readTls(tls: TlsServer, file: ConfigFile): Promise<WebTls | undefined> {
  const path = ['tls_server_config'];
  const at = (key: keyof TlsServer) => ({ file, path: [...path, key] });
  const isSet = (key: keyof TlsServer) => file.source.valueAt(at(key).path) !== undefined;
  const written = file.source.valueAt(path);
  const isNothing = typeof written !== 'object' || written === null || Object.keys(written).length === 0;
  if (isNothing) return undefined;
  // Without them the server would speak plain HTTP, which cannot be meant when TLS is configured.
  for (const key of ['cert_file', 'key_file'] as const) {
    if (!isSet(key)) file.faults.add(at(key).path, 'Missing key; a server with TLS needs it');
  }
  checkClientAuth(tls, file);
  const { min_version: min, max_version: max } = tls;
  if (min === 'TLS13' && max === 'TLS12') {
    file.faults.add(at('max_version').path, '"max_version" is older than "min_version", so no client could connect');
  }

  const reader = new NamedFileReader();
  const { cert_file: cert, key_file: key, client_ca_file: clientCa, client_auth_type: clientAuth } = tls;
  const certPem = cert === undefined ? undefined : await reader.readCertificates(at('cert_file'), cert);
  const keyPem = key === undefined ? undefined : await reader.readKey(at('key_file'), key);
  const clientCaPem =
    clientCa === undefined ? undefined : await reader.readCertificates(at('client_ca_file'), clientCa);
  if (certPem === undefined || !keyPem || clientAuth === undefined) return undefined;
  if (!new X509Certificate(certPem).checkPrivateKey(createPrivateKey(keyPem.reveal()))) {
    file.faults.add(at('key_file').path, 'The key does not belong to the first certificate of "cert_file"');
  }
  return {
    certPem,
    keyPem,
    clientCaPem,
    clientAuth: CLIENT_AUTH[clientAuth],
    minVersion: min,
    maxVersion: max,
    cipherSuites: tls.cipher_suites?.length ? tls.cipher_suites : undefined,
    clientAllowedSans: tls.client_allowed_sans,
  };
}

/** Refuses settings that have no effect because client certificates are not requested or not required. */
function checkClientAuth(tls: TlsServer, file: ConfigFile): void {
  const path = (key: keyof TlsServer) => ['tls_server_config', key];
  const { client_auth_type: type, client_ca_file: clientCa, client_allowed_sans: names } = tls;
  if (type === undefined) return;
  if (clientCa !== undefined && type === 'NoClientCert') {
    const message = '"client_ca_file" has no use without a "client_auth_type", such as RequireAndVerifyClientCert';
    file.faults.add(path('client_ca_file'), message, { aim: 'key' });
  }
  const isVerified = ['verify-if-given', 'require-and-verify'].includes(CLIENT_AUTH[type]);
  if (isVerified && file.source.valueAt(path('client_ca_file')) === undefined) {
    // Otherwise a certificate of any public authority would grant access.
    const message = `Missing key; expected the authorities that sign client certificates, because "client_auth_type" is ${type}`;
    file.faults.add(path('client_ca_file'), message);
  }
  const isRequired = ['require-any', 'require-and-verify'].includes(CLIENT_AUTH[type]);
  if (names !== undefined && !isRequired) {
    const message =
      '"client_allowed_sans" needs "client_auth_type: RequireAndVerifyClientCert", or clients without a certificate would be accepted';
    file.faults.add(path('client_allowed_sans'), message, { aim: 'key' });
  }
}
