import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { createSystemClock, openDeadline, untilAborted } from '../../base/index.ts';
import { decodeText } from '../files/text-file.ts';
import type { ConfigFault } from './fault.ts';
import { type DataRoot, type ParsedData, parseData } from './parse-data.ts';
import { type ParsedText, parseSource, type RootKind } from './parse-source.ts';
import type { YamlReply, YamlRequest } from './yaml-worker.ts';

const WORKER_URL = new URL(import.meta.url.endsWith('.ts') ? './yaml-worker.ts' : './yaml-worker.js', import.meta.url);
/** Shorter texts are parsed on the calling thread: at worst some 15 ms. */
const SHORT_CHARS_MAX = 2048;
/** Twenty times what the largest valid file takes. */
const PARSE_MS_MAX = 120_000;
/** For files of the operator; the largest valid one takes half of it. */
const HEAP_MB_MAX = 2048;

/** Grace period for the thread to release its memory. */
const END_MS_MAX = 10_000;

/**
 * Parses texts in a thread, one after the other, while an agent runs: a text may take seconds. Starts the thread with
 * the first long text.
 */
export class YamlThread implements AsyncDisposable {
  readonly #heapMbMax: number;
  #worker: Worker | undefined;

  /** `heapMbMax`: heap limit in MiB; exceeding it ends only the thread. */
  constructor(heapMbMax: number = HEAP_MB_MAX) {
    this.#heapMbMax = heapMbMax;
  }

  /** Bytes are transferred. Every failure is a fault. Never rejects. */
  async parse(file: string, text: string | Uint8Array<ArrayBuffer>, root: RootKind): Promise<ParsedText> {
    if (text.length <= SHORT_CHARS_MAX) {
      return parseSource(file, typeof text === 'string' ? text : decodeText(text), root);
    }
    const { kind, expected, ifEmpty, itemKey } = root;
    const parsed = await this.#request({ kind: 'parse', file, text, root: { kind, expected, ifEmpty, itemKey } });
    if ('message' in parsed) return { faults: [parsed] };
    const { faults, value, positions } = parsed;
    return { faults, ...(positions && { content: { value, positions } }) };
  }

  /** Parses without positions. Never rejects. */
  async parseData(file: string, text: string, root: DataRoot): Promise<ParsedData> {
    if (text.length <= SHORT_CHARS_MAX) return parseData(file, text, root);
    const parsed = await this.#request({ kind: 'parse-data', file, text, root });
    if ('message' in parsed) return { ok: false, fault: parsed };
    const [fault] = parsed.faults;
    return fault ? { ok: false, fault } : { ok: true, value: parsed.value };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#worker) return;
    using deadline = openDeadline(createSystemClock(), END_MS_MAX);
    await exchange(this.#worker, { kind: 'end' }, deadline.signal).catch(() => {});
    await this.#terminate();
  }

  async #terminate(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }

  async #request(request: Exclude<YamlRequest, { kind: 'end' }>): Promise<YamlReply | ConfigFault> {
    using deadline = openDeadline(createSystemClock(), PARSE_MS_MAX);
    try {
      return await exchange(this.#start(), request, deadline.signal);
    } catch (cause) {
      await this.#terminate();
      const reason = deadline.signal.aborted ? 'time' : 'memory';
      const isStarted = deadline.signal.aborted || Object(cause).code === 'ERR_WORKER_OUT_OF_MEMORY';
      const message = isStarted
        ? `This file takes too much ${reason} to be read; divide it`
        : 'The thread that reads this file could not be started or has ended; check the memory of this machine';
      return { file: request.file, line: 1, column: 1, keyPath: '', message };
    }
  }

  #start(): Worker {
    if (this.#worker) return this.#worker;
    const resourceLimits = { maxOldGenerationSizeMb: this.#heapMbMax };
    const worker = new Worker(WORKER_URL, { name: 'yaml', env: {}, execArgv: [], resourceLimits });
    worker.on('error', () => {});
    worker.once('exit', () => {
      if (this.#worker === worker) this.#worker = undefined;
    });
    this.#worker = worker;
    return worker;
  }
}

async function exchange(worker: Worker, request: YamlRequest, signal: AbortSignal): Promise<YamlReply> {
  const [reply] = await untilAborted(awaitReply(worker, request), signal);
  return reply as YamlReply;
}

async function awaitReply(worker: Worker, request: YamlRequest): Promise<unknown[]> {
  const ended = new AbortController();
  const end = () => ended.abort();
  worker.once('exit', end);
  try {
    const reply = once(worker, 'message', { signal: ended.signal });
    // Copying a long text takes a while.
    const isHandedOver = request.kind === 'parse' && typeof request.text !== 'string';
    worker.postMessage(request, isHandedOver ? [request.text.buffer] : []);
    return await reply;
  } finally {
    worker.off('exit', end);
  }
}
