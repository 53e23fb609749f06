import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Random } from '../../base/index.ts';
import type { Device } from '../device/device.ts';
import type { RouterClock } from '../device/router-clock.ts';
import { Rejection } from '../rejection.ts';
import { API_ROOT, REQUEST_BODY_BYTES_MAX } from '../rest/answer.ts';
import type { HttpListener } from '../server.ts';
import type { ActiveFault, FaultName, RouterFaults } from './router-faults.ts';

interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

const LOGIN_PAGE = `<!DOCTYPE html>
<html><head><title>Login</title></head><body><form action="/login"><input name="user"></form></body></html>
`;
const CHUNK_BYTES = 64 * 1024;

/** Faults that answer without the router. */
const CANNED: Partial<Record<FaultName, (fault: ActiveFault, clock: RouterClock) => RawAnswer>> = {
  http_429: (fault, clock) =>
    refusal(Rejection.of(429, 'description', 'too many requests'), renderRetryAfter(fault, clock)),
  http_500: () => refusal(Rejection.of(500, 'config', 'could not be stored')),
  http_503: (fault, clock) =>
    refusal(Rejection.of(503, 'description', 'locked by another request'), renderRetryAfter(fault, clock)),
  unauthorized: () => refusal(Rejection.of(401, 'authentication', 'missing, expired or invalid token')),
  forbidden: () => refusal(Rejection.of(403, 'authorization', 'insufficient rights')),
  garbage_json: () => ({
    status: 200,
    headers: { 'Content-Type': 'application/json' },
    body: Buffer.from('{"status": {"list": [{"board_type": "M3C'),
  }),
  html_200: () => ({ status: 200, headers: { 'Content-Type': 'text/html' }, body: Buffer.from(LOGIN_PAGE) }),
};

/** Returns the answer of a fault; `undefined` if no active fault answers by itself. */
function findCannedAnswer(faults: ReadonlyMap<FaultName, ActiveFault>, clock: RouterClock): RawAnswer | undefined {
  for (const fault of faults.values()) {
    const answer = CANNED[fault.name]?.(fault, clock);
    if (answer) return answer;
  }
  return undefined;
}

function sendAnswer(outgoing: ServerResponse, { status, headers, body }: RawAnswer): void {
  outgoing.writeHead(status, { ...headers, 'Content-Length': String(body.length) });
  outgoing.end(body);
}

/** Sends JSON of `bytes` bytes without a length, as fast as the client reads. */
function sendHugeBody(outgoing: ServerResponse, bytes: number): void {
  outgoing.writeHead(200, { 'Content-Type': 'application/json' });
  const chunk = Buffer.alloc(CHUNK_BYTES, 'a');
  let left = bytes;
  const pump = () => {
    while (left > 0 && !outgoing.destroyed) {
      const part = chunk.subarray(0, Math.min(left, chunk.length));
      left -= part.length;
      if (!outgoing.write(part)) {
        outgoing.once('drain', pump);
        return;
      }
    }
    outgoing.end('"}}');
  };
  outgoing.write('{"status":{"list":"');
  pump();
}

function refusal(fault: Rejection, headers: Readonly<Record<string, string>> = {}): RawAnswer {
  return {
    status: fault.status,
    headers: { 'Content-Type': 'application/json', ...headers },
    body: Buffer.from(JSON.stringify(fault.toBody())),
  };
}

function renderRetryAfter({ retryAfterSeconds, isRetryAfterDate }: ActiveFault, clock: RouterClock) {
  return { 'Retry-After': isRetryAfterDate ? clock.httpDate(retryAfterSeconds * 1000) : String(retryAfterSeconds) };
}

interface FaultFrontOptions {
  readonly device: Device;
  readonly faults: RouterFaults;
  /** Decides which answers are late. */
  readonly random: Random;
  readonly answer: Answer;
  readonly exchange: Exchange;
}

/** Answers a request like a router without faults. */
export type Answer = (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>;

/** Returns the router's answer to a request; `countDelivered` returns how much of its body will be sent. */
export type Exchange = (
  request: Request,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  countDelivered: (bodyBytes: number) => number,
) => Promise<Response>;

type Faults = ReadonlyMap<FaultName, ActiveFault>;

/** Faults that modify the router's own answer. */
const BENDING: readonly FaultName[] = [
  'reset_mid_body',
  'truncate_body',
  'slow_body',
  'corrupt_archive',
  'truncated_archive',
  'archive_as_text',
];
/** The first wait of TCP for the acknowledgement of a lost packet. Milliseconds. */
const RETRANSMISSION_MS = 1000;
const DOWNLOAD = /^\/download\//;
const ARCHIVE = /^\/download\/log\?(?:.*&)?log_file=([^&]+\.bz2)(?:&|$)/;

/** Applies the active faults between the sockets and the REST interface of one router. */
export class FaultInjector {
  readonly #options: FaultFrontOptions;
  readonly #hanging = new Set<ServerResponse>();
  /** Downloads in progress. */
  readonly #downloads = new Set<ServerResponse>();
  /** Downloads that no longer send anything. */
  readonly #stalled = new WeakSet<ServerResponse>();

  constructor(options: FaultFrontOptions) {
    this.#options = options;
  }

  /** Handles one request. */
  async handle(incoming: IncomingMessage, outgoing: ServerResponse, listener: HttpListener): Promise<void> {
    const { device, answer } = this.#options;
    const path = (incoming.url ?? '').replace(API_ROOT, '');
    const faults = this.#options.faults.take(path);
    const others = [...this.#downloads];
    if (DOWNLOAD.test(path)) this.#recordDownload(outgoing);
    if (faults.size === 0) return answer(incoming, outgoing);
    const slow = faults.get('slow');
    if (slow) await waitUnlessClosed(device, this.#computeDelayMs(slow), outgoing);
    if (outgoing.destroyed) return;
    if (faults.has('hang')) return this.#hang(outgoing);
    if (faults.has('one_at_a_time')) await Promise.all(others.map(whenClosed));
    if (faults.has('download_stalls')) for (const one of others) this.#stalled.add(one);
    if (faults.has('busy_beside_download') && others.length > 0) {
      return sendAnswer(outgoing, { status: 503, headers: {}, body: Buffer.alloc(0) });
    }
    const canned = findCannedAnswer(faults, device.clock);
    const huge = faults.get('huge_body');
    if (canned || huge) {
      outgoing.setHeader('Date', device.clock.httpDate());
      const [name] = [...faults.keys()].filter((one) => one !== 'slow');
      device.counters.addAnswer(`${incoming.method} (${name})`, canned?.status ?? 200, canned?.body.length ?? 0);
      return canned ? sendAnswer(outgoing, canned) : sendHugeBody(outgoing, huge?.bytes ?? 0);
    }
    if (!BENDING.some((name) => faults.has(name))) return answer(incoming, outgoing);
    const archive = findArchive(path);
    const bent = await this.#bend(incoming, outgoing, faults, archive);
    if (!bent) return;
    if (faults.has('reset_mid_body')) return sendHalf(outgoing, bent, () => listener.reset(incoming));
    if (faults.has('truncate_body')) return sendHalf(outgoing, bent, () => incoming.socket.destroySoon());
    const slowBody = faults.get('slow_body');
    if (!slowBody) return sendAnswer(outgoing, bent);
    return await this.#sendSlowly(outgoing, bent, slowBody.bytesPerSecond);
  }

  #computeDelayMs({ delayMs, lossRatio }: ActiveFault): number {
    const isLost = lossRatio > 0 && this.#options.random() < lossRatio;
    return delayMs + (isLost ? RETRANSMISSION_MS : 0);
  }

  /** Ends hanging requests by closing their connections. */
  releaseHanging(): void {
    for (const outgoing of this.#hanging) outgoing.destroy();
  }

  #recordDownload(outgoing: ServerResponse): void {
    this.#downloads.add(outgoing);
    outgoing.once('close', () => this.#downloads.delete(outgoing));
  }

  async #sendSlowly(
    outgoing: ServerResponse,
    { status, headers, body }: RawAnswer,
    bytesPerSecond: number,
  ): Promise<void> {
    outgoing.writeHead(status, { ...headers, 'Content-Length': String(body.length) });
    for (let sent = 0; sent < body.length && !outgoing.destroyed; sent += bytesPerSecond) {
      if (sent > 0) await waitUnlessClosed(this.#options.device, 1000, outgoing);
      if (this.#stalled.has(outgoing)) await whenClosed(outgoing);
      outgoing.write(body.subarray(sent, sent + bytesPerSecond));
    }
    outgoing.end();
  }

  #hang(outgoing: ServerResponse): void {
    this.#hanging.add(outgoing);
    outgoing.once('close', () => this.#hanging.delete(outgoing));
  }

  /** `undefined` if the client has disconnected. */
  async #bend(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    faults: Faults,
    archive: string | undefined,
  ): Promise<RawAnswer | undefined> {
    const { device, exchange } = this.#options;
    const request = await readRequest(incoming);
    const isCut = faults.has('reset_mid_body') || faults.has('truncate_body');
    const isSpoilt = archive !== undefined && (faults.has('corrupt_archive') || faults.has('truncated_archive'));
    const countDelivered = (bytes: number) => (isSpoilt ? 0 : isCut ? Math.floor(bytes / 2) : bytes);
    const response = await exchange(request, incoming, outgoing, countDelivered);
    // Content-Length is set again for the bytes actually sent.
    response.headers.delete('Content-Length');
    const answer: RawAnswer = {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: Buffer.from(await response.arrayBuffer()),
    };
    if (outgoing.destroyed) return undefined;
    if (archive === undefined || answer.status !== 200) return answer;
    const { body } = answer;
    if (faults.has('archive_as_text')) {
      const text = device.logs.readExpanded(archive) ?? body;
      return { ...answer, headers: { ...answer.headers, 'content-type': 'text/plain' }, body: text };
    }
    if (faults.has('corrupt_archive')) return { ...answer, body: corrupt(body) };
    if (faults.has('truncated_archive')) return { ...answer, body: body.subarray(0, Math.floor(body.length / 2)) };
    return answer;
  }
}

/** Announces the full length, sends half and then calls `end`. */
function sendHalf(outgoing: ServerResponse, { status, headers, body }: RawAnswer, end: () => void): void {
  outgoing.writeHead(status, { ...headers, 'Content-Length': String(body.length) });
  outgoing.flushHeaders();
  outgoing.write(body.subarray(0, Math.floor(body.length / 2)), end);
}

/** Flips bits in the middle, so that the beginning still looks like an archive. */
function corrupt(body: Buffer): Buffer {
  const spoilt = Buffer.from(body);
  const middle = Math.floor(spoilt.length / 2);
  for (let index = middle; index < Math.min(middle + 8, spoilt.length); index++) spoilt[index] = ~(spoilt[index] ?? 0);
  return spoilt;
}

function findArchive(path: string): string | undefined {
  const name = ARCHIVE.exec(path)?.[1];
  if (name === undefined) return undefined;
  try {
    return decodeURIComponent(name);
  } catch {
    return undefined;
  }
}

/** A body beyond the limit is truncated, which is enough to be rejected. */
async function readRequest(incoming: IncomingMessage): Promise<Request> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    if (length <= REQUEST_BODY_BYTES_MAX) chunks.push(chunk);
    length += chunk.length;
  }
  const { method = 'GET', url = '/', headers } = incoming;
  const hasBody = method !== 'GET' && method !== 'HEAD' && length > 0;
  const pairs = Object.entries(headers).filter(([name]) => name !== 'content-length' && name !== 'transfer-encoding');
  return new Request(new URL(url, 'http://router'), {
    method,
    headers: pairs.flatMap(([name, value]): [string, string][] => (typeof value === 'string' ? [[name, value]] : [])),
    ...(hasBody && { body: Buffer.concat(chunks) }),
  });
}

function whenClosed(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    if (outgoing.closed) resolve();
    else outgoing.once('close', () => resolve());
  });
}

/** Waits on the router's clock, until the client disconnects. */
export async function waitUnlessClosed({ time }: Device, delayMs: number, outgoing: ServerResponse): Promise<void> {
  const gone = new AbortController();
  const onClose = () => gone.abort();
  outgoing.once('close', onClose);
  await time.sleep(delayMs, gone.signal).catch(() => {});
  outgoing.off('close', onClose);
}
