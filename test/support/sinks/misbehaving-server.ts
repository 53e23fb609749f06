import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { gunzipSync } from 'node:zlib';

/** A request that has arrived whole, its body decompressed. */
export interface ArrivedRequest {
  readonly method: string;
  /** With the query, as sent. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Bytes of the body on the wire. */
  readonly wireBytes: number;
  /** Counts the connections of the server, from 1. */
  readonly connection: number;
}

export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/**
 * What a server does instead of its work:
 * `status` answers so; `hang` reads the request and says nothing; `stall` stops in the middle of an answer; `cut` ends
 * the connection there; `vanish` ends it before the answer; `take-and-vanish` does the work first; `garbage` speaks no
 * HTTP; `flood` answers with success and too much; `empty` with success and nothing.
 */
type Misbehaviour =
  | ({ readonly kind: 'status' } & Reply)
  | { readonly kind: 'hang' | 'stall' | 'cut' | 'vanish' | 'take-and-vanish' | 'garbage' | 'empty' }
  | { readonly kind: 'flood'; readonly bytes: number };

export interface MisbehavingServer extends AsyncDisposable {
  /** Without a slash at its end. */
  readonly url: string;
  readonly port: number;
  /** Everything that has arrived whole, in order. */
  readonly requests: readonly ArrivedRequest[];
  /** Rules of the protocol that were broken by who sent something. */
  readonly violations: string[];
  /** For the next `times` requests. */
  misbehave(what: Misbehaviour, times?: number): void;
  /** Resolves when the next request has arrived whole. */
  nextArrival(): Promise<ArrivedRequest>;
  /** Changes the bound of bodies. */
  allowBody(bytesMax: number): void;
  /** Ends the connections that are open. */
  disconnect(): void;
  close(): Promise<void>;
}

export interface MisbehavingServerOptions {
  /** Serves HTTPS with these settings. */
  readonly certificate?: ServerOptions | undefined;
  /** What the header `Authorization` has to be. */
  readonly authorization?: string | undefined;
  /** Host in the url. Default `127.0.0.1`. */
  readonly host?: string | undefined;
  /** Default: a free one. */
  readonly port?: number | undefined;
  /** Larger bodies are answered with 413. */
  readonly bodyBytesMax?: number | undefined;
}

/** A server on loopback that does `work`, unless it is told to misbehave. */
export async function openMisbehavingServer(
  work: (request: ArrivedRequest, violations: string[]) => Reply,
  { certificate, authorization, host = '127.0.0.1', port: wanted = 0, ...options }: MisbehavingServerOptions = {},
): Promise<MisbehavingServer> {
  let { bodyBytesMax = Number.POSITIVE_INFINITY } = options;
  const requests: ArrivedRequest[] = [];
  const violations: string[] = [];
  const plans: Misbehaviour[] = [];
  const connections = new Map<Socket, number>();
  let arrivals: ((request: ArrivedRequest) => void)[] = [];

  const listener = async (message: IncomingMessage, response: ServerResponse) => {
    const { socket } = message;
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of message) chunks.push(chunk as Buffer);
    } catch {
      // Who sent it has ended the connection.
      return;
    }
    const request = readRequest(message, Buffer.concat(chunks), connections.get(socket) ?? 0, violations);
    requests.push(request);
    const woken = arrivals;
    arrivals = [];
    for (const wake of woken) wake(request);
    const plan = plans.shift();
    if (plan) {
      misbehave(plan, socket, response, () => work(request, violations));
      return;
    }
    if (request.body.length > bodyBytesMax) return send(response, { status: 413, body: 'the body is too large' });
    const isKnown = authorization === undefined || message.headers.authorization === authorization;
    send(response, isKnown ? work(request, violations) : { status: 401, body: 'who are you?' });
  };
  const listen = (message: IncomingMessage, response: ServerResponse) => void listener(message, response);
  const server = certificate ? createTlsServer(certificate, listen) : createServer(listen);
  server.on(certificate ? 'secureConnection' : 'connection', (socket: Socket) => {
    connections.set(socket, connections.size + 1);
    socket.on('error', () => {});
  });
  server.listen(wanted, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
  return {
    url: `${certificate ? 'https' : 'http'}://${host}:${port}`,
    port,
    requests,
    violations,
    misbehave: (what, times = 1) => void plans.push(...Array.from({ length: times }, () => what)),
    nextArrival: () => new Promise((resolve) => void arrivals.push(resolve)),
    allowBody: (bytesMax) => {
      bodyBytesMax = bytesMax;
    },
    disconnect: () => server.closeAllConnections(),
    close,
    [Symbol.asyncDispose]: close,
  };
}

function readRequest(
  { method = '', url = '', headers }: IncomingMessage,
  raw: Buffer,
  connection: number,
  violations: string[],
): ArrivedRequest {
  const encoding = headers['content-encoding'];
  let body = raw;
  if (encoding === 'gzip') {
    try {
      body = gunzipSync(raw);
    } catch (cause) {
      violations.push(`the body is not gzip: ${String(cause)}`);
    }
  } else if (encoding !== undefined) {
    violations.push(`unknown content encoding ${encoding}`);
  }
  if (method === 'POST' && headers['content-length'] !== String(raw.length)) {
    violations.push('a body without its length');
  }
  if (method === 'GET' && raw.length > 0) violations.push('GET with a body');
  return { method, path: url, headers, body, wireBytes: raw.length, connection };
}

function send(response: ServerResponse, { status, headers = {}, body = '' }: Reply): void {
  const hasBody = status !== 204;
  response.writeHead(status, { ...headers, ...(hasBody && { 'content-length': Buffer.byteLength(body) }) });
  response.end(hasBody ? body : undefined);
}

function misbehave(plan: Misbehaviour, socket: Socket, response: ServerResponse, work: () => Reply): void {
  switch (plan.kind) {
    case 'status':
      send(response, plan);
      return;
    case 'hang':
      return;
    case 'stall':
    case 'cut':
      response.writeHead(200, { 'content-length': 1000 });
      response.write('{"half":');
      if (plan.kind === 'cut') socket.destroySoon();
      return;
    case 'vanish':
      socket.destroy();
      return;
    case 'take-and-vanish':
      work();
      socket.destroy();
      return;
    case 'garbage':
      socket.end('220 mail.example ESMTP ready\r\n');
      return;
    case 'flood':
      send(response, { status: 200, body: 'x'.repeat(plan.bytes) });
      return;
    case 'empty':
      send(response, { status: 200 });
      return;
  }
}
