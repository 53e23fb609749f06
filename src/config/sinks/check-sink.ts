import type { Place } from '../../settings/index.ts';
import { isWritten, refuseBoth } from '../../settings/index.ts';
import { UDP_PAYLOAD_BYTES_MAX } from '../defaults.ts';
import type { WrittenSink, WrittenSinkOf } from './sink-schema.ts';

/** A sink that is reached over a network. */
export type WrittenNetworkSink = WrittenSinkOf<'http' | 'loki' | 'elasticsearch' | 'otlp' | 'syslog' | 'nats'>;

/** Ways to prove who the agent is, each with the keys that are its own. The first key of each stands for it in messages. */
const WAYS = [
  ['username', 'password', 'password_file'],
  ['bearer_token', 'bearer_token_file'],
  ['api_key', 'api_key_file'],
  ['credentials_file'],
] as const;

/** Checks what the schema cannot say about one sink: which of its keys go together. */
export function checkSink(sink: WrittenSink, place: Place): void {
  if (sink.type === undefined || sink.type === 'stdout' || sink.type === 'file') return;
  if (sink.type !== 'syslog') checkAccount(sink, place);
  if (sink.type === 'syslog') checkDatagram(sink, place);
  else if (sink.type === 'nats') checkServers(sink, place);
  else checkHeaders(sink, place);
  checkTls(sink, place);
}

function checkAccount({ type, username }: WrittenNetworkSink & { username?: string | undefined }, place: Place): void {
  const { file, path } = place;
  refuseBoth(place, 'password', 'password_file');
  refuseBoth(place, 'bearer_token', 'bearer_token_file');
  refuseBoth(place, 'api_key', 'api_key_file');
  const written = WAYS.map((keys) => keys.find((key) => isWritten(place, key))).filter((key) => key !== undefined);
  const [first, ...others] = written;
  for (const key of others) {
    file.faults.add([...path, key], `Both "${first}" and "${key}" are set; a sink has one way to prove who it is`, {
      aim: 'key',
    });
  }
  const password = (['password', 'password_file'] as const).find((key) => isWritten(place, key));
  if (password === undefined && isWritten(place, 'username')) {
    file.faults.add([...path, 'username'], '"username" needs "password" or "password_file" beside it', { aim: 'key' });
  }
  if (password !== undefined && !isWritten(place, 'username')) {
    file.faults.add([...path, password], `"${password}" needs "username" beside it`, { aim: 'key' });
  }
  if (type !== 'nats' && username?.includes(':')) {
    file.faults.add([...path, 'username'], 'A user name over HTTP has no ":", because the password begins behind it');
  }
}

/** Refuses a header that is there twice, in whatever case, or that another key of the sink already says. */
function checkHeaders(sink: WrittenSinkOf<'http' | 'loki' | 'elasticsearch' | 'otlp'>, place: Place): void {
  const { file, path } = place;
  const first = new Map<string, string>();
  for (const way of WAYS) {
    const key = way.find((it) => isWritten(place, it));
    if (key !== undefined) first.set('authorization', key);
  }
  if (sink.type === 'loki' && isWritten(place, 'tenant')) first.set('x-scope-orgid', 'tenant');
  for (const map of ['headers', 'header_files'] as const) {
    for (const name of Object.keys(sink[map] ?? {})) {
      const earlier = first.get(name.toLowerCase());
      const message = `The header "${name}" is already set by "${earlier}"`;
      if (earlier !== undefined) file.faults.add([...path, map, name], message, { aim: 'key' });
      else first.set(name.toLowerCase(), `${map}.${name}`);
    }
  }
}

/** Refuses `tls` where nothing is encrypted, a certificate without its key, and a key without its certificate. */
function checkTls(sink: WrittenNetworkSink, place: Place): void {
  const { file, path } = place;
  if (!isWritten(place, 'tls')) return;
  const reason = findPlainReason(sink, place);
  if (reason !== undefined) {
    file.faults.add([...path, 'tls'], `"tls" means nothing here, because ${reason}`, { aim: 'key' });
  }
  const { cert_file: cert, key_file: key, fingerprint_sha256: fingerprint } = sink.tls ?? {};
  const tls = { file, path: [...path, 'tls'] };
  const refuseAlone = (present: string, missing: string) => {
    if (isWritten(tls, missing)) return;
    file.faults.add([...tls.path, present], `"${present}" needs "${missing}" beside it`);
  };
  if (cert !== undefined) refuseAlone('cert_file', 'key_file');
  if (key !== undefined) refuseAlone('key_file', 'cert_file');
  if (sink.type === 'nats' && fingerprint !== undefined) {
    const message = 'A sink of type "nats" cannot check a fingerprint; name the certificate in "ca_file"';
    file.faults.add([...tls.path, 'fingerprint_sha256'], message, { aim: 'key' });
  }
}

/** Says why there is no TLS; `undefined` where there is, or where the key that decides it is faulty itself. */
function findPlainReason(sink: WrittenNetworkSink, { file, path }: Place): string | undefined {
  if (sink.type === 'syslog') {
    if (sink.protocol === 'tls' || file.faults.covers([...path, 'protocol'])) return undefined;
    return sink.protocol === undefined ? '"protocol" is "tcp" by default' : `"protocol" is "${sink.protocol}"`;
  }
  if (sink.type === 'nats') {
    const isPlain = sink.servers?.every((server) => server.startsWith('nats:'));
    return isPlain ? 'no server in "servers" begins with tls://' : undefined;
  }
  const url = sink.type === 'http' ? sink.url?.url : sink.url;
  return url?.startsWith('http:') ? '"url" begins with http://' : undefined;
}

/** Refuses servers without TLS beside others with it: the secrets would go to the former in plain text. */
function checkServers({ servers = [] }: WrittenSinkOf<'nats'>, { file, path }: Place): void {
  const plain = servers.findIndex((server) => server.startsWith('nats:'));
  if (plain < 0 || servers.every((server) => server.startsWith('nats:'))) return;
  const message = 'A server without TLS beside others with it; write tls:// before each of them, or before none';
  file.faults.add([...path, 'servers', plain], message);
}

function checkDatagram({ protocol, message_max: bytes = 0 }: WrittenSinkOf<'syslog'>, { file, path }: Place): void {
  if (protocol !== 'udp' || bytes <= UDP_PAYLOAD_BYTES_MAX) return;
  const message = `A datagram of "protocol: udp" has at most ${UDP_PAYLOAD_BYTES_MAX} bytes`;
  file.faults.add([...path, 'message_max'], message);
}
