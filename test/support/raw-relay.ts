import { once } from 'node:events';
import { type IncomingMessage, request as requestPlain } from 'node:http';
import { request as requestTls } from 'node:https';
import { type AddressInfo, createServer, type Socket } from 'node:net';

/** An answer of the server behind a relay, read whole. */
export interface RelayedAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer;
  /** Path of its request. */
  readonly path: string;
}

/** Renders an answer as its bytes on the wire. */
export type RenderAnswer = (answer: RelayedAnswer) => Buffer;

/** A server on loopback that hands requests on to another one, and answers with the bytes that a test makes of its answers. */
export interface RawRelay extends AsyncDisposable {
  readonly url: string;
  /** Changes how answers are rendered. */
  render: RenderAnswer;
  /** A longer body of a request resets its connection before it is read. Bytes. */
  bodyBytesMax: number;
  /** Requests that were reset because of that. */
  readonly resets: number;
}

/** Renders an answer with these lines of its head, and its body. */
export function renderAnswer({ status, contentType, body }: RelayedAnswer, ...lines: readonly string[]): Buffer {
  const head = [`HTTP/1.1 ${status} Status`, `Content-Type: ${contentType}`, ...lines].join('\r\n');
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`, 'latin1'), body]);
}

/** Opens a relay to the server at `target`. */
export async function openRawRelay(target: string, render: RenderAnswer): Promise<RawRelay> {
  const open = new Set<Socket>();
  let resets = 0;
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => open.delete(socket));
    let received = Buffer.alloc(0);
    socket.on('data', (piece) => {
      received = Buffer.concat([received, piece]);
      const end = received.indexOf('\r\n\r\n');
      if (end < 0) return;
      const [first = '', ...lines] = received.toString('latin1', 0, end).split('\r\n');
      const [method = '', path = ''] = first.split(' ');
      const headers = Object.fromEntries(lines.map((line) => line.split(': ', 2) as [string, string]));
      const bytes = Number(headers['content-length'] ?? 0);
      if (bytes > relay.bodyBytesMax) {
        resets++;
        socket.resetAndDestroy();
        return;
      }
      if (received.length < end + 4 + bytes) return;
      const body = received.subarray(end + 4, end + 4 + bytes);
      received = received.subarray(end + 4 + bytes);
      const handOn = async () => socket.write(relay.render(await ask(target, method, path, headers, body)));
      void handOn().catch(() => socket.destroy());
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const relay = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    render,
    bodyBytesMax: Number.POSITIVE_INFINITY,
    get resets() {
      return resets;
    },
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of open) socket.destroy();
      await once(server, 'close');
    },
  };
  return relay;
}

async function ask(
  target: string,
  method: string,
  path: string,
  headers: Record<string, string>,
  body: Buffer,
): Promise<RelayedAnswer> {
  const options = { method, headers, agent: false, rejectUnauthorized: false };
  const sent = target.startsWith('https:')
    ? requestTls(`${target}${path}`, options)
    : requestPlain(`${target}${path}`, options);
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  const contentType = answer.headers['content-type'] ?? 'text/plain';
  return { status: answer.statusCode ?? 0, contentType, body: Buffer.concat(chunks), path };
}
