import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { parseSyslogMessage, type ReceivedMessage } from './syslog-message.ts';

/**
 * What a collector does instead of its work:
 * `end` ends the connection in an orderly way after so many messages of it, `reset` breaks it; `stop-reading` takes
 * connections and never reads from them; `refuse` ends each connection as soon as it is there.
 */
type SyslogMisbehaviour =
  | { readonly kind: 'end' | 'reset'; readonly messages: number }
  | { readonly kind: 'stop-reading' | 'refuse' };

export interface SyslogServer extends AsyncDisposable {
  /** `host:port`. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /** In the order of arrival. */
  readonly messages: readonly ReceivedMessage[];
  /** Values of `uid` in the structured data. */
  readonly uids: readonly string[];
  /** Rules of the protocol that were broken by who sent something. */
  readonly violations: readonly string[];
  /** Connections so far. */
  readonly connections: number;
  /** From the next connection on, until told otherwise; `undefined`: not at all. */
  misbehave(what: SyslogMisbehaviour | undefined): void;
  /** Ends the open connections in an orderly way, or by a reset. */
  disconnect(how: 'end' | 'reset'): void;
  close(): Promise<void>;
}

export interface SyslogServerOptions {
  readonly protocol: 'tcp' | 'tls' | 'udp';
  /** Certificate and key, for `tls`. */
  readonly certificate?: TlsOptions | undefined;
  readonly host?: string | undefined;
}

/** Largest message that it takes, in bytes. */
const MESSAGE_BYTES_MAX = 10 * 1024 * 1024;

/** A collector that takes messages of RFC 5424 by the letter: octet-counted (RFC 6587, 5425) or in datagrams (RFC 5426). */
export async function openSyslogServer(options: SyslogServerOptions): Promise<SyslogServer> {
  const inbox = new Inbox();
  return options.protocol === 'udp' ? await openDatagrams(options, inbox) : await openStreams(options, inbox);
}

class Inbox {
  readonly messages: ReceivedMessage[] = [];
  readonly violations: string[] = [];

  take(bytes: Uint8Array): void {
    try {
      this.messages.push(parseSyslogMessage(bytes));
    } catch (cause) {
      this.violations.push(String(cause));
    }
  }

  get uids(): string[] {
    return this.messages.map(({ data }) => data['record@0']?.['uid'] ?? '');
  }
}

async function openDatagrams({ host = '127.0.0.1' }: SyslogServerOptions, inbox: Inbox): Promise<SyslogServer> {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
  socket.on('message', (bytes) => inbox.take(bytes));
  socket.bind(0, host);
  await once(socket, 'listening');
  const { port } = socket.address();
  let isOpen = true;
  const close = async () => {
    if (!isOpen) return;
    isOpen = false;
    socket.close();
    await once(socket, 'close');
  };
  return {
    url: `${host}:${port}`,
    host,
    port,
    messages: inbox.messages,
    violations: inbox.violations,
    connections: 0,
    get uids() {
      return inbox.uids;
    },
    misbehave: () => {},
    disconnect: () => {},
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function openStreams(options: SyslogServerOptions, inbox: Inbox): Promise<SyslogServer> {
  const { protocol, certificate = {}, host = '127.0.0.1' } = options;
  const sockets = new Set<Socket>();
  let misbehaviour: SyslogMisbehaviour | undefined;
  let connections = 0;
  const onSocket = (socket: Socket) => {
    connections++;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    if (misbehaviour?.kind === 'stop-reading') return;
    if (misbehaviour?.kind === 'refuse') {
      socket.end();
      return;
    }
    serve(socket, inbox, misbehaviour);
  };
  const server = protocol === 'tls' ? createTlsServer(certificate, onSocket) : createServer(onSocket);
  server.on('tlsClientError', () => {});
  server.listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    if (!server.listening) return;
    server.close();
    await once(server, 'close');
  };
  return {
    url: `${host}:${port}`,
    host,
    port,
    messages: inbox.messages,
    violations: inbox.violations,
    get uids() {
      return inbox.uids;
    },
    get connections() {
      return connections;
    },
    misbehave(what) {
      misbehaviour = what;
    },
    disconnect(how) {
      for (const socket of sockets) {
        if (how === 'end') socket.end();
        else socket.resetAndDestroy();
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function serve(socket: Socket, inbox: Inbox, misbehaviour: SyslogMisbehaviour | undefined): void {
  let waiting = Buffer.alloc(0);
  let taken = 0;
  socket.on('data', (chunk) => {
    waiting = Buffer.concat([waiting, Buffer.from(chunk)]);
    for (let frame = takeFrame(); frame; frame = takeFrame()) {
      inbox.take(frame);
      taken++;
      if (misbehaviour && 'messages' in misbehaviour && taken >= misbehaviour.messages) {
        socket.removeAllListeners('data').resume();
        waiting = Buffer.alloc(0);
        if (misbehaviour.kind === 'end') socket.end();
        else socket.resetAndDestroy();
        return;
      }
    }
  });
  socket.on('end', () => {
    if (waiting.length > 0)
      inbox.violations.push(`The connection ended within a message, after ${waiting.length} bytes`);
  });

  function takeFrame(): Buffer | undefined {
    const [head = '', digits] = /^([1-9]\d{0,9}) /.exec(waiting.toString('latin1', 0, 11)) ?? [];
    const length = Number(digits);
    if (digits === undefined || length > MESSAGE_BYTES_MAX) {
      const isShort = /^([1-9]\d{0,8})?$/.test(waiting.toString('latin1', 0, 10));
      if (isShort && waiting.length < 10) return undefined;
      inbox.violations.push(`No octet count: ${JSON.stringify(waiting.toString('latin1', 0, 40))}`);
      socket.destroy();
      waiting = Buffer.alloc(0);
      return undefined;
    }
    if (waiting.length < head.length + length) return undefined;
    const frame = waiting.subarray(head.length, head.length + length);
    waiting = waiting.subarray(head.length + length);
    return frame;
  }
}
