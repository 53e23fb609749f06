import { StoreError } from '../model/index.ts';
import { type ClusterLink, type Message, type PublishAnswer, toAway } from './link.ts';

/** Header with the id of the step that wrote a message. */
export const STEP_HEADER = 'Rx-Step';

/** A message that replaces the previous one of its subject, which must be the one that was read here. */
export interface FencedWrite {
  readonly subject: string;
  readonly payload: Uint8Array;
}

/** The owner of the written state: a router, or a sink (its cursor). */
export interface Owned {
  readonly kind: 'router' | 'sink';
  readonly name: string;
}

interface StepWrites {
  /** What this replica must own during the write. */
  readonly owned: Owned;
  /** Messages that only add to the stream. */
  readonly added: readonly Message[];
  readonly fenced: readonly FencedWrite[];
}

interface Step extends StepWrites {
  readonly id: string;
  readonly bytes: number;
  expected: readonly number[] | undefined;
  readonly done: PromiseWithResolvers<void>;
}

interface CommitQueueOptions {
  readonly link: Pick<ClusterLink, 'clock' | 'ready' | 'publish' | 'send' | 'readLast'>;
  readonly stream: string;
  /** Name of this replica, for people who inspect the stream. */
  readonly replica: string;
  /** Prefix of the ids of steps; unique in the cluster and for each run of the process. */
  readonly prefix: string;
  readonly isOwner: (owned: Owned) => boolean;
  /** Called when the stored state of a router or sink is unknown, so that it must be read again. */
  readonly onStale: (owned: Owned) => void;
  /** Called with the size of what was stored. Bytes. */
  readonly onStored: (bytes: number) => void;
}

/** Default maximum of servers for one batch. Messages. */
const MESSAGES_MAX = 1000;
/** A batch on a slow line must end within the time limit of a request. Bytes. */
const BYTES_MAX = 4 * 1024 * 1024;
/** Time for which a commit is repeated while no server answers. Milliseconds. */
const COMMIT_MS_MAX = 10_000;
/** Wait before a batch is repeated that the server had no room for. Milliseconds. */
const BUSY_MS = 10;
const SILENT_MS = 200;
/** Codes of "wrong last sequence", and the same without the sequence. */
export const FENCE_CODES: readonly number[] = [10_071, 10_164];
/** Too many open batches, and the batch that was dropped because of them. */
const BUSY_CODES: readonly number[] = [10_210, 10_176, 10_008];
/** Codes of: maximum of bytes, and resources of the server or account exhausted. */
export const FULL_CODES: readonly number[] = [10_077, 10_047, 10_023, 10_028, 10_002];
/** Atomic publish batch is too large. */
const TOO_LARGE = 10_199;

/**
 * Makes steps durable in the stream, in their order. Steps that wait while a batch is in flight form the next batch. Each
 * fenced message names the one it replaces, so that a replica that was paused, and whose routers others own now, is rejected.
 *
 * ```
 *   waiting ── taken into a group ──▶ sent ── stored ──▶ resolved
 *                  ▲                   │ ▲
 *                  │                   │ └── no answer, or no room for a batch: sent again unchanged
 *                  │                   ├── full ──▶ rejected with `full`
 *                  │                   ├── no answer for 10 s ──▶ rejected with `unwritable`; the stored state is unknown
 *                  │                   └── a sequence is wrong: each step is checked with the leader
 *                  │                         ├── stored (by an attempt without an answer) ──▶ resolved
 *                  │                         ├── another replica has written ──▶ rejected with `fenced`
 *                  └─────────────────────────┴── nothing has changed
 * ```
 */
export class CommitQueue {
  readonly #options: CommitQueueOptions;
  readonly #waiting: Step[] = [];
  readonly #unsettled = new Set<Step>();
  readonly #sequences = new Map<string, number>();
  readonly #closing = new AbortController();
  #messagesMax = MESSAGES_MAX;
  #steps = 0;
  #batches = 0;
  #isRunning = false;

  constructor(options: CommitQueueOptions) {
    this.#options = options;
  }

  /** Records the sequence of the last message of a subject, as the leader has it. */
  recordSequence(subject: string, sequence: number): void {
    this.#sequences.set(subject, sequence);
  }

  forget(subject: string): void {
    this.#sequences.delete(subject);
  }

  /** Resolves when all of `writes` are stored; rejects with {@link StoreError} otherwise. */
  async commit(writes: StepWrites): Promise<void> {
    const { prefix } = this.#options;
    const payloads = [...writes.added, ...writes.fenced].map(({ payload }) => payload.length);
    const bytes = payloads.reduce((sum, length) => sum + length, 0);
    const done = Promise.withResolvers<void>();
    const step: Step = { ...writes, id: `${prefix}-${this.#steps++}`, bytes, expected: undefined, done };
    this.#waiting.push(step);
    this.#unsettled.add(step);
    if (!this.#isRunning) void this.#sendAll();
    try {
      await done.promise;
    } finally {
      this.#unsettled.delete(step);
    }
  }

  /** Resolves when the pending steps of `owned` (default: all) are stored or rejected. */
  async settle(owned?: Owned): Promise<void> {
    const own = [...this.#unsettled].filter(
      (step) => !owned || (step.owned.kind === owned.kind && step.owned.name === owned.name),
    );
    await Promise.allSettled(own.map(({ done }) => done.promise));
  }

  close(): void {
    this.#closing.abort();
  }

  async #sendAll(): Promise<void> {
    this.#isRunning = true;
    // Steps of the same iteration of the event loop go together.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const group = this.#takeGroup();
      try {
        await this.#send(group);
      } catch (cause) {
        for (const step of group) this.#reject(step, cause, true);
      }
    }
    // Without an await since the check of the loop: a later step starts a new run.
    this.#isRunning = false;
  }

  #takeGroup(): Step[] {
    const group: Step[] = [];
    const fenced = new Set<string>();
    let messages = 0;
    let bytes = 0;
    for (let next = this.#waiting[0]; next; next = this.#waiting[0]) {
      const { added, fenced: own } = next;
      messages += added.length + own.length;
      bytes += next.bytes;
      const isFull =
        messages > this.#messagesMax || bytes > BYTES_MAX || own.some(({ subject }) => fenced.has(subject));
      if (isFull && group.length > 0) break;
      for (const { subject } of own) fenced.add(subject);
      group.push(next);
      this.#waiting.shift();
    }
    return group;
  }

  async #send(all: readonly Step[]): Promise<void> {
    const { clock } = this.#options.link;
    const untilMs = clock.monotonic() + COMMIT_MS_MAX;
    let group = this.#dropUnowned(all);
    while (group.length > 0) {
      const messages = group.flatMap((step) => this.#toMessages(step));
      const answer = await this.#publish(messages);
      if (answer.kind === 'stored') {
        this.#resolveAll(group, answer.seq - messages.length + 1);
        return;
      }
      const code = answer.kind === 'refused' ? answer.code : undefined;
      const before = group.length;
      if (code !== undefined && FENCE_CODES.includes(code)) group = await this.#sortOut(group);
      const isStuck = group.length === before;
      if (!isStuck) continue;
      if (code === TOO_LARGE && group.length > 1) {
        this.#messagesMax = Math.ceil(this.#messagesMax / 2);
        const half = Math.ceil(group.length / 2);
        await this.#send(group.slice(0, half));
        group = group.slice(half);
      } else if (code !== undefined && FULL_CODES.includes(code) && group.length > 1) {
        // A cursor may still have room, and makes more.
        for (const step of group) await this.#send([step]);
        return;
      } else if (code !== undefined && ![...BUSY_CODES, ...FENCE_CODES].includes(code)) {
        const error = toRefused(answer.kind === 'refused' ? answer.text : '', code);
        for (const step of group) this.#reject(step, error, false);
        return;
      } else {
        if (clock.monotonic() >= untilMs || this.#closing.signal.aborted) {
          const error = toAway(answer.kind === 'unknown' ? answer.cause : undefined);
          for (const step of group) this.#reject(step, error, true);
          return;
        }
        await clock.sleep(code === undefined ? SILENT_MS : BUSY_MS);
      }
      group = this.#dropUnowned(group);
    }
  }

  /** Rejects the steps of routers that this replica has lost, or that are not open. */
  #dropUnowned(group: readonly Step[]): Step[] {
    return group.filter((step) => {
      step.expected ??= this.#findExpected(step);
      if (step.expected && this.#options.isOwner(step.owned)) return true;
      this.#reject(step, toFenced(step.owned), true);
      return false;
    });
  }

  #findExpected({ fenced }: Step): readonly number[] | undefined {
    const expected = fenced.flatMap(({ subject }) => this.#sequences.get(subject) ?? []);
    return expected.length === fenced.length ? expected : undefined;
  }

  #toMessages({ id, added, fenced, expected = [] }: Step): Message[] {
    const who = [STEP_HEADER, id, 'Rx-Owner', this.#options.replica];
    return [
      ...added.map(({ subject, payload, words }) => ({ subject, payload, words: [...words, STEP_HEADER, id] })),
      ...fenced.map(({ subject, payload }, index) => {
        const fence = ['Nats-Expected-Last-Subject-Sequence', String(expected[index])];
        return { subject, payload, words: [...fence, 'Nats-Rollup', 'sub', 'Nats-TTL', 'never', ...who] };
      }),
    ];
  }

  /**
   * Publishes messages so that all or none are stored: as an atomic batch, or alone. Headers are written by hand, see
   * decision 0028.
   */
  async #publish(messages: readonly Message[]): Promise<PublishAnswer> {
    const { link, prefix } = this.#options;
    const [only] = messages;
    if (only && messages.length === 1) return await link.publish(only);
    const batch = `${prefix}-b${this.#batches++}`;
    const parts = messages.map((message, index) => {
      const own = ['Nats-Batch-Id', batch, 'Nats-Batch-Sequence', String(index + 1)];
      const isLast = index === messages.length - 1;
      return { ...message, words: [...message.words, ...own, ...(isLast ? ['Nats-Batch-Commit', '1'] : [])] };
    });
    const [first, ...rest] = parts;
    const last = rest.pop();
    if (!first || !last) return { kind: 'stored', seq: 0 };
    try {
      await link.ready();
    } catch (cause) {
      return { kind: 'unknown', cause };
    }
    // The server reports a rejected batch in its answer to the first message; its answer to the last one only says that the
    // others are missing.
    const opening = link.publish(first);
    for (const part of rest) link.send(part);
    const answer = await link.publish(last);
    if (answer.kind === 'stored') return answer;
    const opened = await opening;
    return opened.kind === 'refused' ? opened : answer;
  }

  #resolveAll(group: readonly Step[], firstSeq: number): void {
    let seq = firstSeq;
    for (const step of group) {
      seq += step.added.length;
      for (const { subject } of step.fenced)
        if (this.#sequences.has(subject)) this.#sequences.set(subject, seq++);
        else seq++;
      this.#options.onStored(step.bytes);
      step.done.resolve();
    }
  }

  /** Returns the steps that are still to be sent after a wrong sequence; settles the others. */
  async #sortOut(group: readonly Step[]): Promise<Step[]> {
    const left: Step[] = [];
    const verdicts = await Promise.all(group.map((step) => this.#judge(step)));
    for (const [index, step] of group.entries()) {
      const verdict = verdicts[index];
      if (verdict === 'untouched') left.push(step);
      else if (verdict === 'fenced') this.#reject(step, toFenced(step.owned), true);
      else {
        this.#options.onStored(step.bytes);
        step.done.resolve();
      }
    }
    return left;
  }

  async #judge({ id, fenced, expected = [] }: Step): Promise<'stored' | 'fenced' | 'untouched'> {
    const { link, stream } = this.#options;
    const last = await Promise.all(fenced.map(({ subject }) => link.readLast(stream, subject)));
    if (last.length > 0 && last.every((message) => message?.headers.get(STEP_HEADER) === id)) {
      for (const message of last) if (message) this.recordSequence(message.subject, message.seq);
      return 'stored';
    }
    return last.every((message, index) => (message?.seq ?? 0) === expected[index]) ? 'untouched' : 'fenced';
  }

  /**
   * Rejects a step, and the waiting ones on the same subject: they assume that it was stored. `isStale`: the stored state
   * must be read again before the next step.
   */
  #reject(step: Step, cause: unknown, isStale: boolean): void {
    const subjects = new Set(step.fenced.map(({ subject }) => subject));
    const behind = this.#waiting.filter(({ fenced }) => fenced.some(({ subject }) => subjects.has(subject)));
    for (const one of behind) this.#waiting.splice(this.#waiting.indexOf(one), 1);
    if (isStale) this.#options.onStale(step.owned);
    for (const one of [step, ...behind]) one.done.reject(cause);
  }
}

/** Returns the error for a step whose router or sink another replica owns, or may own. */
export function toFenced({ kind, name }: Owned): StoreError {
  return new StoreError('fenced', `Another replica has taken over the ${kind} ${name}, or may have`, {
    disposition: 'retry',
  });
}

export function toRefused(text: string, code: number): StoreError {
  if (FULL_CODES.includes(code)) {
    return new StoreError('full', `The stream of the cluster is full: ${text}`, {
      disposition: 'hold-back',
      hint: 'Check the sinks: records leave the stream once every sink has them. Or raise max_bytes of the stream',
    });
  }
  return new StoreError('unwritable', `The stream of the cluster refuses a commit: ${text} (${code})`, {
    disposition: 'hold-back',
    hint: 'Check the stream with router-exporter cluster init',
  });
}
