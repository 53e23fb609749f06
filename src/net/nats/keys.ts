import { z } from 'zod';
import {
  describeHost,
  type Place,
  parsed,
  type SecretKind,
  type SoundOf,
  secretPath,
  withSecrecy,
} from '../../settings/index.ts';
import { accountShape, checkAccount, checkTls, parseHostAndPort, tls } from '../keys.ts';

/** Keys of a NATS client: servers, account and TLS. */

/** Port registered with IANA. */
const PORT_DEFAULT = 4222;
/** More than any cluster has. */
const SERVERS_MAX = 100;
/** Credentials files have two blocks of a few kilobytes at most. */
const CREDENTIALS_BYTES_MAX = 64 * 1024;

/** Content of a credentials file: both blocks, as `nsc` writes them. */
const CREDENTIALS: SecretKind = {
  expected: 'the credentials of a user of NATS, a JWT and a seed',
  isValid: (content) => /-BEGIN NATS USER JWT-[\s\S]*-BEGIN USER NKEY SEED-/.test(content),
  bytesMax: CREDENTIALS_BYTES_MAX,
};

const SERVERS = `a list of 1 to ${SERVERS_MAX} servers`;
const SERVER = 'a server such as nats.example.net:4222 or tls://nats.example.net, without credentials';

/** Keys of servers, account and TLS. */
export const natsServersShape = {
  servers: z
    .array(
      withSecrecy(
        'possible',
        parsed({ description: 'Address of a server.' }, SERVER, parseServer, String, describeHost),
      ),
      {
        error: SERVERS,
      },
    )
    .min(1, { error: SERVERS })
    .max(SERVERS_MAX, { error: SERVERS })
    .meta({
      description:
        'Servers of one cluster: `host:port`, `nats://host:port` or `tls://host:port`. Either all or none use TLS.',
      kind: 'list of addresses',
    }),
  credentials_file: secretPath(
    'Credentials file (`.creds`) of a user. Replaces user name and token.',
    CREDENTIALS,
  ).optional(),
  ...accountShape,
  tls,
};

type SoundNatsServers = SoundOf<z.ZodObject<typeof natsServersShape>>;

/** Normalises a NATS address to `nats://host:port` or `tls://host:port`. */
function parseServer(value: string): string | undefined {
  const [, scheme = 'nats', rest = ''] = /^(?:(nats|tls):\/\/)?(.*?)\/?$/s.exec(value) ?? [];
  const hasPort = /^(\[[^\]]*\]|[^:]*):\d+$/.test(rest);
  const parts = parseHostAndPort(hasPort ? rest : `${rest}:${PORT_DEFAULT}`);
  if (!parts) return undefined;
  return `${scheme}://${parts.host.includes(':') ? `[${parts.host}]` : parts.host}:${parts.port}`;
}

/** Rejects invalid combinations of keys. `who`: the client in messages, such as `a sink`; `kind`: the client with its type. */
export function checkNatsServers(
  place: Place,
  { servers = [], tls: section }: SoundNatsServers,
  { who, kind }: { readonly who: string; readonly kind: string },
): void {
  const { file, path } = place;
  checkAccount(place, who, 'credentials_file');
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
    const message = `${kind} cannot check a fingerprint; name the certificate in "ca_file"`;
    file.faults.add([...path, 'tls', 'fingerprint_sha256'], message, { aim: 'key' });
  }
}
