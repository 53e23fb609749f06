import type { GapCertainty, LogRecord, RecordFlag, RouterIdentity } from '../model/index.ts';
import { createUidPrefix, renderEventUid, renderUid } from './identity.ts';
import type { RawLine } from './line-splitter.ts';
import { parseLine, type WallTime } from './parse-line.ts';
import type { Instance } from './position.ts';
import type { Zone } from './zone.ts';

/** What all records of one reading of one file share. */
export interface RecordContext {
  readonly router: RouterIdentity;
  readonly component: string;
  readonly zone: Zone;
  /** The agent's clock when the download began. Milliseconds since the Unix epoch. */
  readonly observedMs: number;
  /** As the router lists it. */
  readonly file: string;
  readonly flags: readonly RecordFlag[];
}

/** What is missing, and how that is known. */
export interface Gap {
  readonly certainty: GapCertainty;
  readonly reason: 'expired' | 'not-found' | 'damaged' | 'broken-link';
}

const GAP_WORDS: Readonly<Record<Gap['reason'], string>> = {
  expired: 'the router deleted a file before it was read to its end',
  'not-found': 'the rest of a file was never found under another name',
  damaged: 'a rotated file could not be decompressed to its end',
  'broken-link': 'a file between two others is missing, or the clock of the router was set',
};

/** Nanoseconds that keep lines of one second in the order of their files: see {@link renderTimestamp}. */
const HALF_SECOND_NS = 500_000_000;
const MILLISECOND_NS = 1_000_000;
const SECOND_MS = 1000;

/** Turns raw lines of one file into rendered records, and keeps what each line needs from the ones before. */
export class RecordBuilder {
  readonly #context: RecordContext;
  readonly #instance: Instance;
  readonly #uidPrefix: string;
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });

  constructor(context: RecordContext, instance: Instance) {
    this.#context = context;
    this.#instance = instance;
    this.#uidPrefix = createUidPrefix(context.router.name, context.component, instance);
  }

  /** One line as a JSON object; also says whether it had the form of a log line. */
  render(line: RawLine): { readonly json: string; readonly isParsed: boolean } {
    const { router, component, zone, observedMs, file } = this.#context;
    const bytes = line.bytes.at(-1) === 0x0d ? line.bytes.subarray(0, -1) : line.bytes;
    const text = this.#decoder.decode(bytes);
    const isLossy = text.includes('\uFFFD') && !Buffer.from(text, 'utf8').equals(bytes);
    const { time, tag, message } = parseLine(text);
    const placed = time && zone.place(time.asUtcMs, this.#instance.lastUtcMs);
    if (time && placed) {
      this.#instance.firstUtcMs ??= placed.utcMs;
      this.#instance.lastUtcMs = placed.utcMs;
    }
    this.#instance.lastStart = line.start;
    const utcMs = this.#instance.lastUtcMs;
    const flags: RecordFlag[] = [...(placed?.flags ?? []), ...this.#context.flags];
    if (line.isTruncated) flags.push('truncated');
    if (isLossy) flags.push('lossy');
    if (!time) flags.push('unparsed');
    const json = renderRecord({
      ...(utcMs !== undefined && { timestamp: renderTimestamp(utcMs, time, line.start, this.#instance.firstUtcMs) }),
      observed_timestamp: new Date(observedMs).toISOString(),
      router: router.name,
      component,
      ...(tag !== undefined && { tag }),
      message,
      uid: renderUid(this.#uidPrefix, line.start),
      file,
      offset: line.start,
      ...toLabelsField(router),
      ...(flags.length > 0 && { flags }),
      ...(isLossy && { original: Buffer.from(bytes).toString('base64') }),
    });
    return { json, isParsed: time !== undefined };
  }
}

/** The record that says that lines are missing after what was read of `instance` (or, without one, somewhere before `file`). */
export function renderGap(context: RecordContext, gap: Gap, instance: Instance | undefined): string {
  const { router, component, observedMs, file } = context;
  const offset = instance?.off ?? 0;
  const about = instance ? createUidPrefix(router.name, component, instance) : file;
  return renderRecord({
    observed_timestamp: new Date(observedMs).toISOString(),
    router: router.name,
    component,
    message: `Log lines are missing: ${GAP_WORDS[gap.reason]}`,
    uid: renderEventUid('log.gap', router.name, component, about, offset),
    file,
    offset,
    ...toLabelsField(router),
    event: 'log.gap',
    details: {
      certainty: gap.certainty,
      reason: gap.reason,
      from_uid: instance ? renderUid(about, instance.lastStart) : null,
      to_uid: null,
      time_from: instance?.lastUtcMs === undefined ? null : new Date(instance.lastUtcMs).toISOString(),
      time_to: null,
      bytes_min: null,
      lines: null,
    },
  });
}

function renderRecord(record: LogRecord): string {
  return JSON.stringify(record);
}

function toLabelsField(router: RouterIdentity): Pick<LogRecord, 'labels'> {
  return Object.keys(router.labels).length > 0 ? { labels: router.labels } : {};
}

/**
 * RFC 3339 with nine decimals. Routers write whole seconds, so what comes below is the line's offset in its file: order
 * survives, and every reading gives the same value. Lines in the second in which their file begins get half a second
 * more, because the file before it ends in that same second. After a fraction, half the offset fills the millisecond.
 * A line without a time of its own follows the form of the one before it.
 */
function renderTimestamp(
  utcMs: number,
  time: WallTime | undefined,
  offset: number,
  firstUtcMs: number | undefined,
): string {
  const whole = new Date(utcMs).toISOString();
  if (time?.hasFraction ?? utcMs % SECOND_MS !== 0) {
    const ns = Math.min(Math.floor(offset / 2), MILLISECOND_NS - 1);
    return `${whole.slice(0, -1)}${String(ns).padStart(6, '0')}Z`;
  }
  const isFirstSecond = firstUtcMs !== undefined && toSecond(utcMs) === toSecond(firstUtcMs);
  const ns = (isFirstSecond ? HALF_SECOND_NS : 0) + Math.min(offset, HALF_SECOND_NS - 1);
  return `${whole.slice(0, -5)}.${String(ns).padStart(9, '0')}Z`;
}

function toSecond(utcMs: number): number {
  return Math.floor(utcMs / SECOND_MS);
}
