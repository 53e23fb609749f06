import type { Secret } from '../../base/index.ts';
import type { NamedFileReader, Place, SecretKind, TlsSettings } from '../../settings/index.ts';
import { NATS_CREDENTIALS_BYTES_MAX } from '../defaults.ts';
import type { WrittenNetworkSink } from './check-sink.ts';
import type { SinkAuthSettings } from './settings.ts';
import { HEADER_VALUE, isHeaderValue, isToken, TOKEN } from './sink-values.ts';

const BEARER_TOKEN: SecretKind = { expected: TOKEN, isValid: isToken };
const HEADER: SecretKind = { expected: HEADER_VALUE, isValid: isHeaderValue };
/** Both blocks, as `nsc` writes them. */
const CREDENTIALS: SecretKind = {
  expected: 'the credentials of a user of NATS, a JWT and a seed',
  isValid: (text) => /-BEGIN NATS USER JWT-[\s\S]*-BEGIN USER NKEY SEED-/.test(text),
  bytesMax: NATS_CREDENTIALS_BYTES_MAX,
};

/** Secrets of a sink, from the file or from files of their own. Where there is a fault, they lack something. */
export interface SinkSecrets {
  readonly tls: TlsSettings;
  readonly auth: SinkAuthSettings | undefined;
  readonly headers: Readonly<Record<string, Secret>>;
  readonly credentials: Secret | undefined;
}

/** Reads every file that a sink names. What is wrong with one is a fault at its key. */
export async function readSinkSecrets(
  sink: WrittenNetworkSink,
  place: Place,
  reader: NamedFileReader,
): Promise<SinkSecrets> {
  const at = (...keys: readonly string[]): Place => ({ file: place.file, path: [...place.path, ...keys] });
  const { tls } = sink;
  const read = async (key: string, name: string | undefined, kind?: SecretKind) =>
    name === undefined ? undefined : reader.readSecret(at(key), name, kind);
  return {
    tls: {
      ...{ caPem: undefined, certPem: undefined, keyPem: undefined },
      ...(await reader.readTls(at('tls'), tls ?? {})),
      serverName: tls?.server_name,
      fingerprintSha256: tls?.fingerprint_sha256,
      insecureSkipVerify: tls?.insecure_skip_verify ?? false,
    },
    auth: sink.type === 'syslog' ? undefined : await readAuth(sink, read),
    headers: sink.type === 'syslog' || sink.type === 'nats' ? {} : await readHeaders(sink, at, reader),
    credentials: sink.type === 'nats' ? await read('credentials_file', sink.credentials_file, CREDENTIALS) : undefined,
  };
}

type ReadFile = (key: string, name: string | undefined, kind?: SecretKind) => Promise<Secret | undefined>;
type WithAccount = Exclude<WrittenNetworkSink, { type: 'syslog' }>;

async function readAuth(sink: WithAccount, read: ReadFile): Promise<SinkAuthSettings | undefined> {
  const { username } = sink;
  // All are read before one is taken, so that every fault is told.
  const password = (await read('password_file', sink.password_file)) ?? sink.password;
  const bearer = (await read('bearer_token_file', sink.bearer_token_file, BEARER_TOKEN)) ?? sink.bearer_token;
  const isElastic = sink.type === 'elasticsearch';
  const key = isElastic ? ((await read('api_key_file', sink.api_key_file, BEARER_TOKEN)) ?? sink.api_key) : undefined;
  if (username !== undefined && password) return { kind: 'basic', username, password };
  if (bearer) return { kind: 'bearer', token: bearer };
  return key && { kind: 'api-key', key };
}

async function readHeaders(
  sink: Exclude<WithAccount, { type: 'nats' }>,
  at: (...keys: readonly string[]) => Place,
  reader: NamedFileReader,
): Promise<Record<string, Secret>> {
  const headers: Record<string, Secret> = { ...sink.headers };
  for (const [name, path] of Object.entries(sink.header_files ?? {})) {
    const value = await reader.readSecret(at('header_files', name), path, HEADER);
    if (value) headers[name] = value;
  }
  return headers;
}
