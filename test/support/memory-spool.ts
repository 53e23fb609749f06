import { LineRanges, LineTable } from '../../src/base/index.ts';
import type { SliceBounds } from '../../src/model/index.ts';
import type { DeliveryWorker } from '../../src/sinks/index.ts';

type Options = ConstructorParameters<typeof DeliveryWorker<number>>[0];
type Spool = Options['spool'];
type DeadLetterBox = Options['deadLetters'];
type DeadLetter = Parameters<DeadLetterBox['add']>[1][number];
type ReplayedDeadLetter = Awaited<ReturnType<DeadLetterBox['readReplayed']>>[number];

interface SpooledLine {
  readonly line: string;
  readonly router: string;
  readonly component: string;
  readonly committedMs: number;
}

/** A spool in memory: a cursor is the number of the next line. */
export class MemorySpool implements Spool {
  readonly lines: SpooledLine[] = [];
  readonly cursors = new Map<string, number>();
  /** How far each sink has got again what it had; the calls of `repeat` set where that begins. */
  readonly passes = new Map<string, number>();
  /** Number of the first line that goes again, by the argument of `repeat`; by default none does. */
  repeatFrom: (endedMs: number | undefined) => number = () => Number.POSITIVE_INFINITY;
  /** Told of each acknowledgement, so that a test sees the order of things. */
  readonly onAcknowledged: (sink: string, cursor: number) => void;

  constructor(onAcknowledged: (sink: string, cursor: number) => void = () => {}) {
    this.onAcknowledged = onAcknowledged;
  }

  /** Adds records of one log; text without braces stands for a record with that message and uid. */
  add(texts: readonly string[], { router = 'plant-7', component = 'network', committedMs = 0 } = {}): void {
    for (const text of texts)
      this.lines.push({ line: renderLine(text, router, component), router, component, committedMs });
  }

  readSlice(sink: string, { recordsMax, isWanted }: SliceBounds) {
    const cursor = this.cursors.get(sink) ?? 0;
    const pass = this.passes.get(sink);
    const start = pass ?? cursor;
    const end = pass === undefined ? this.lines.length : cursor;
    if (start >= end) return undefined;
    const taken: SpooledLine[] = [];
    let next = start;
    while (next < end && taken.length < recordsMax) {
      const one = this.lines[next++];
      if (one && isWanted(one.router, one.component)) taken.push(one);
    }
    const lines = new LineRanges();
    for (const { line } of taken) lines.add(new LineTable(Buffer.from(line)), 0, 1);
    return {
      lines,
      next,
      oldestMs: taken[0]?.committedMs ?? 0,
      isFull: taken.length >= recordsMax,
      skipped: next - start - taken.length,
      isRepeat: pass !== undefined,
    };
  }

  acknowledge(sink: string, cursor: number): void {
    if (this.passes.has(sink)) {
      if (cursor < (this.cursors.get(sink) ?? 0)) this.passes.set(sink, cursor);
      else this.passes.delete(sink);
      return;
    }
    this.onAcknowledged(sink, cursor);
    this.cursors.set(sink, cursor);
  }

  repeat(sink: string, endedMs?: number): void {
    const from = Math.min(this.repeatFrom(endedMs), this.passes.get(sink) ?? Number.POSITIVE_INFINITY);
    if (from < (this.cursors.get(sink) ?? 0)) this.passes.set(sink, from);
  }
}

/** Dead letters in memory. */
export class MemoryDeadLetters implements DeadLetterBox {
  deadLetters: (DeadLetter & { readonly id: number; readonly sink: string; isReplayed: boolean })[] = [];
  #id = 0;

  add(sink: string, deadLetters: readonly DeadLetter[], taken: readonly number[] = []): void {
    const uids = new Set(deadLetters.map(({ uid }) => uid));
    this.deadLetters = this.deadLetters.filter(({ id }) => !taken.includes(id));
    this.deadLetters = this.deadLetters.filter((one) => one.sink !== sink || !uids.has(one.uid));
    for (const deadLetter of deadLetters)
      this.deadLetters.push({ ...deadLetter, sink, id: ++this.#id, isReplayed: false });
  }

  readReplayed(sink: string, { recordsMax }: { readonly recordsMax: number }): readonly ReplayedDeadLetter[] {
    return this.deadLetters.filter((one) => one.sink === sink && one.isReplayed).slice(0, recordsMax);
  }
}

/** A record as it is stored, with `text` as its message and its uid. */
export function renderLine(text: string, router = 'plant-7', component = 'network'): string {
  if (text.startsWith('{')) return text;
  return JSON.stringify({
    observed_timestamp: '2026-11-21T12:00:00.000Z',
    router,
    component,
    message: text,
    uid: text,
    file: `${component}/current`,
    offset: 0,
  });
}
