import { z } from 'zod';
import type { Secret } from '../../../base/index.ts';
import {
  checked,
  type NamedFileReader,
  type Place,
  parsed,
  type SecretKind,
  type SoundOf,
  secretPath,
  withSecrecy,
} from '../../../settings/index.ts';
import { batch, format, timeout } from '../common-keys.ts';
import { type OwnKeys, sinkSchema } from '../define-sink.ts';
import { accountShape, checkAccount, checkTls, readAccount, readSinkTls, tls } from '../network-keys.ts';
import { parseHostAndPort } from '../network-values.ts';

/** Port registered with IANA. */
const PORT_DEFAULT = 4222;
/** More than any cluster has. */
const SERVERS_MAX = 100;
/** Leaves space for site, router and component within the limit of servers. */
const SUBJECT_CHARS_MAX = 128;
/** NATS's limit for the name of a stream. */
const STREAM_CHARS_MAX = 255;
/** Credentials files have two blocks of a few kilobytes at most. */
const CREDENTIALS_BYTES_MAX = 64 * 1024;

const SERVERS = `a list of 1 to ${SERVERS_MAX} servers`;
const SERVER = 'a server such as nats.example.net:4222 or tls://nats.example.net, without credentials';

/** A sink of type `nats`. */
export const natsSchema = sinkSchema('nats', 'NATS JetStream. The uid of a record is the id of its message.', {
  servers: z
    .array(withSecrecy('possible', parsed({ description: 'Address of a server.' }, SERVER, parseServer)), {
      error: SERVERS,
    })
    .min(1, { error: SERVERS })
    .max(SERVERS_MAX, { error: SERVERS })
    .meta({
      description:
        'Servers of one cluster: `host:port`, `nats://host:port` or `tls://host:port`. Either all or none use TLS.',
      kind: 'list of addresses',
    }),
  subject: checked(
    {
      description: 'Prefix of the subjects, followed by site, router and component: `logs.munich.plant-7.network`.',
      kind: 'subject',
    },
    'the first part of a subject: letters, digits, "_" and "-", with dots between',
    SUBJECT_CHARS_MAX,
    (value) => /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/.test(value),
  ).prefault('logs'),
  stream: checked(
    {
      description: 'Stream that stores the records. It is not created; the preflight checks that it exists.',
      kind: 'name',
    },
    'the name of a stream: no blanks, dots, slashes, "*" and ">"',
    STREAM_CHARS_MAX,
    (value) => /^[^\s\p{Cc}.*>/\\]+$/u.test(value),
  ).optional(),
  credentials_file: secretPath('Credentials file (`.creds`) of a user. Replaces user name and token.').optional(),
  ...accountShape,
  timeout,
  tls,
  format: format(['native', 'ecs', 'otel']),
  batch: batch({ recordsMax: 1000, bytesMax: 1024 ** 2, waitMs: 0 }),
});

/** Normalises an address of NATS to `nats://host:port` or `tls://host:port`. */
function parseServer(value: string): string | undefined {
  const [, scheme = 'nats', rest = ''] = /^(?:(nats|tls):\/\/)?(.*?)\/?$/s.exec(value) ?? [];
  const hasPort = /^(\[[^\]]*\]|[^:]*):\d+$/.test(rest);
  const parts = parseHostAndPort(hasPort ? rest : `${rest}:${PORT_DEFAULT}`);
  if (!parts) return undefined;
  return `${scheme}://${parts.host.includes(':') ? `[${parts.host}]` : parts.host}:${parts.port}`;
}

type SoundNats = SoundOf<typeof natsSchema>;

/** Rejects combinations of keys. */
export function checkNats(place: Place, { servers = [], tls: section }: SoundNats): void {
  const { file, path } = place;
  checkAccount(place, 'credentials_file');
  const isPlain = (server: string) => server.startsWith('nats:');
  const first = servers.findIndex(isPlain);
  const isAllPlain = servers.length > 0 && servers.every(isPlain);
  if (first >= 0 && !isAllPlain) {
    // Secrets would be sent to it in plain text.
    const message = 'A server without TLS among servers with TLS; write tls:// before all of them or none';
    file.faults.add([...path, 'servers', first], message);
  }
  checkTls(place, section, isAllPlain ? 'no server in "servers" begins with tls://' : undefined);
  if (section?.fingerprint_sha256 !== undefined) {
    const message = 'A sink of type "nats" cannot check a fingerprint; name the certificate in "ca_file"';
    file.faults.add([...path, 'tls', 'fingerprint_sha256'], message, { aim: 'key' });
  }
}

/** The content of a credentials file: both blocks, as `nsc` writes them. */
const CREDENTIALS: SecretKind = {
  expected: 'the credentials of a user of NATS, a JWT and a seed',
  isValid: (content) => /-BEGIN NATS USER JWT-[\s\S]*-BEGIN USER NKEY SEED-/.test(content),
  bytesMax: CREDENTIALS_BYTES_MAX,
};

/** Reads the files that the keys refer to. */
export async function readNatsSecrets(place: Place, keys: SoundNats, reader: NamedFileReader) {
  const at = { file: place.file, path: [...place.path, 'credentials_file'] };
  const file = keys.credentials_file;
  return {
    tls: await readSinkTls(place, keys.tls, reader),
    auth: await readAccount(place, keys, reader),
    /** Content of the credentials file: JWT and seed of a user. Excludes `auth`. */
    credentials: file === undefined ? undefined : await reader.readSecretFile(at, file, CREDENTIALS),
  };
}

type NatsKeys = OwnKeys<typeof natsSchema>;
/** Settings of a sink of type `nats`. */
export type NatsSettings = Readonly<ReturnType<typeof toNatsSettings>>;

/** Converts keys to settings. `readNatsSecrets` returns the content of the credentials file. */
export function toNatsSettings(keys: NatsKeys) {
  const { credentials_file: _file, ...same } = keys;
  return same;
}

/** Returns settings in the form of the configuration file. */
export function toNatsKeys({ credentials, ...same }: NatsSettings & { credentials: Secret | undefined }): NatsKeys {
  return { ...same, credentials_file: credentials?.toString() };
}
