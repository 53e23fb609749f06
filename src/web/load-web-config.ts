import { createPrivateKey, X509Certificate } from 'node:crypto';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import type { ConfigFault, RootExpected } from '../settings/index.ts';
import {
  CONFIG_FILE_BYTES_MAX,
  type ConfigFile,
  ConfigFiles,
  checkSettings,
  NamedFileReader,
  readTextFile,
  renderFileFault,
  type TextFile,
} from '../settings/index.ts';
import type { RateLimitSettings } from './rate-limit.ts';
import type { WebClientAuth, WebSecuritySettings, WebTlsSettings } from './security.ts';
import { type WebFileSettings, webSchema } from './web-file-schema.ts';

/** Files of a web configuration, faulty or not: the file itself, and those with certificates that it names. */
interface WebFiles {
  /** Absolute paths. */
  readonly watched: readonly string[];
}

/** The security settings of the server, or all faults of the file in line order; `watched`: the files to read again when they change. */
export type LoadedWebConfig =
  | ({
      readonly ok: true;
      readonly security: WebSecuritySettings;
      /** Warnings, such as files that others may write. */
      readonly warnings: readonly ConfigFault[];
    } & WebFiles)
  | ({ readonly ok: false; readonly faults: readonly ConfigFault[] } & WebFiles);

interface ReadWebConfig extends WebFiles {
  /** `undefined` when the file is faulty. */
  readonly security: WebSecuritySettings | undefined;
}

type TlsServer = NonNullable<WebFileSettings['tls_server_config']>;

const WEB_ROOT: RootExpected = {
  kind: 'map',
  expected: 'a map of keys such as "tls_server_config:"',
  // Whoever configures such a file wants protection, and an empty file gives none.
  ifEmpty: 'write "{}" for a server without protection',
  schema: webSchema,
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
 * Reads and checks a file in the format of the Prometheus exporters (`web.config_file`) and every file that it refers to.
 * Never rejects. Environment variables are not expanded, because other programs read such files as they are.
 */
export async function loadWebConfig(path: string): Promise<LoadedWebConfig> {
  await using files = new ConfigFiles();
  const text = await readTextFile(path, CONFIG_FILE_BYTES_MAX);
  if (!text.ok) files.refuse(path, `The web configuration file ${text.reason}`);
  const { security, watched } = text.ok
    ? await parseWebSecurity(path, path, text, files)
    : { security: undefined, watched: [path] };
  const { faults } = files;
  return security && faults.length === 0
    ? { ok: true, security, watched, warnings: files.warnings }
    : { ok: false, faults, watched };
}

/** Reads the `web.config_file` of the main file. */
export async function readWebSecurity(main: ConfigFile, name: string, files: ConfigFiles): Promise<ReadWebConfig> {
  const path = resolve(main.folder, name);
  const text = await readTextFile(path, CONFIG_FILE_BYTES_MAX);
  if (text.ok) {
    const shownName = isAbsolute(name) ? name : join(dirname(main.name), name);
    return parseWebSecurity(shownName, path, text, files);
  }
  const place = ['web', 'config_file'];
  main.faults.add(place, renderFileFault(main, place, !isAbsolute(name), text.reason));
  return { security: undefined, watched: [path] };
}

async function parseWebSecurity(
  name: string,
  path: string,
  text: TextFile & { readonly ok: true },
  files: ConfigFiles,
): Promise<ReadWebConfig> {
  const file = await files.parse(name, path, text, WEB_ROOT);
  const settings = file && (await checkSettings(file, undefined, webSchema));
  if (!file || !settings) return { security: undefined, watched: [path] };
  const headers = Object.entries(settings.http_server_config?.headers ?? {}).flatMap(([header, value]) =>
    value === undefined || value === '' ? [] : [[header, value] as const],
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

async function readTls(tls: TlsServer, file: ConfigFile): Promise<WebTlsSettings | undefined> {
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
    file.faults.add(at('max_version').path, '"max_version" is older than "min_version", so nobody could connect');
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

/** Refuses settings without effect because clients are not asked for a certificate or need not have one. */
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
    const message = `Missing key; expected the authorities that vouch for clients, because "client_auth_type" is ${type}`;
    file.faults.add(path('client_ca_file'), message);
  }
  const isRequired = ['require-any', 'require-and-verify'].includes(CLIENT_AUTH[type]);
  if (names !== undefined && !isRequired) {
    const message =
      '"client_allowed_sans" needs "client_auth_type: RequireAndVerifyClientCert", or clients without a certificate would come in';
    file.faults.add(path('client_allowed_sans'), message, { aim: 'key' });
  }
}
