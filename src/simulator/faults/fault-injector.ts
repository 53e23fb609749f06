import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Device } from '../device/device.ts';
import { REQUEST_BODY_BYTES_MAX } from '../rest/answer.ts';
import { API_ROOT } from '../rest/app.ts';
import type { HttpListener } from '../server/http-listener.ts';
import { findCannedAnswer, type RawAnswer, sendAnswer, sendHugeBody } from './fault-answers.ts';
import type { ActiveFault, FaultName, RouterFaults } from './router-faults.ts';

/** The router whose answers are spoiled. */
export interface FaultFrontOptions {
  /** The router behind the faults. */
  readonly device: Device;
  /** The faults in force. */
  readonly faults: RouterFaults;
  /** Answers as the router does without faults. */
  readonly answer: (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>;
  /** Returns the router's answer to a request; `countDelivered` returns how much of its body will be sent. */
  readonly exchange: (
    request: Request,
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    countDelivered: (bodyBytes: number) => number,
  ) => Promise<Response>;
}

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
const DOWNLOAD = /^\/download\//;
const ARCHIVE = /^\/download\/log\?(?:.*&)?log_file=([^&]+\.bz2)(?:&|$)/;

/** Applies the active faults between the sockets and the REST interface of one router. */
export class FaultInjector {
  readonly #options: FaultFrontOptions;
  readonly #hanging = new Set<ServerResponse>();
  /** Downloads that are being sent. */
  readonly #downloads = new Set<ServerResponse>();
  /** Those of them that send nothing any more. */
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
    if (DOWNLOAD.test(path)) this.#noteDownload(outgoing);
    if (faults.size === 0) return answer(incoming, outgoing);
    const slow = faults.get('slow');
    if (slow) await waitUnlessClosed(device, slow.delayMs, outgoing);
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

  /** Ends hanging requests by closing their connections. */
  releaseHanging(): void {
    for (const outgoing of this.#hanging) outgoing.destroy();
  }

  #noteDownload(outgoing: ServerResponse): void {
    this.#downloads.add(outgoing);
    outgoing.once('close', () => this.#downloads.delete(outgoing));
  }

  /** Sends a body second by second. */
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

  /** Lets the router answer and modifies the answer; `undefined` if the client has disconnected. */
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
    // Content-Length is set again for what is really sent.
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

/** Announces the full length, sends half and then ends the connection as the fault demands. */
function sendHalf(outgoing: ServerResponse, { status, headers, body }: RawAnswer, end: () => void): void {
  outgoing.writeHead(status, { ...headers, 'Content-Length': String(body.length) });
  outgoing.flushHeaders();
  outgoing.write(body.subarray(0, Math.floor(body.length / 2)), end);
}

/** Flips some bits in the middle, so that the beginning still looks like an archive. */
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

/** Reads the request; a body beyond the limit is truncated, which is enough to be rejected. */
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

/** Waits on the router's clock, but not for a client that has disconnected. */
async function waitUnlessClosed({ time }: Device, delayMs: number, outgoing: ServerResponse): Promise<void> {
  const gone = new AbortController();
  const onClose = () => gone.abort();
  outgoing.once('close', onClose);
  await time.sleep(delayMs, gone.signal).catch(() => {});
  outgoing.off('close', onClose);
}
