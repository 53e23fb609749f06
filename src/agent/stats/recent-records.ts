import type { RecordLines } from '../../model/index.ts';
import type { RecordSummary } from '../../web/index.ts';

/** Records kept per router: what fits on a screen. */
const ROUTER_RECORDS_MAX = 20;
/** Records kept of all routers, some 15 MB: 20 for each of 2,000 routers, 4 for each of 10,000. */
const RECORDS_MAX = 40_000;
/** More of a message is for those who search the sink. */
const MESSAGE_CHARS_MAX = 240;
const WORD_CHARS_MAX = 80;
const LINE_FEED = 0x0a;

/** The log file and offset of a record. */
export interface RecordOrigin {
  readonly component: string;
  readonly file: string;
  readonly offset: number;
}

/** The last records of each router as they were stored, redacted and truncated, within a bound for all routers. */
export class RecentRecords {
  /** Records by router; the newest last. */
  readonly #routers = new Map<string, RecordSummary[]>();
  #max = ROUTER_RECORDS_MAX;

  /** Adds a router. In a large fleet each router keeps fewer records. */
  add(router: string): void {
    this.#routers.set(router, []);
    this.#divide();
  }

  forget(router: string): void {
    this.#routers.delete(router);
    this.#divide();
  }

  /** Adds rendered records of one router; returns the origin of the last one. */
  record(router: string, lines: RecordLines): RecordOrigin | undefined {
    const kept = this.#routers.get(router);
    if (!kept || lines.length === 0) return undefined;
    const parsed = takeLast(lines, this.#max).map(parseRecord);
    kept.push(...parsed.map(({ summary }) => summary));
    kept.splice(0, Math.max(0, kept.length - this.#max));
    return parsed.at(-1)?.origin;
  }

  /** The newest first. */
  list(router: string): readonly RecordSummary[] {
    return (this.#routers.get(router) ?? []).toReversed();
  }

  #divide(): void {
    const max = Math.max(1, Math.min(ROUTER_RECORDS_MAX, Math.floor(RECORDS_MAX / this.#routers.size)));
    if (max < this.#max) for (const kept of this.#routers.values()) kept.splice(0, Math.max(0, kept.length - max));
    this.#max = max;
  }
}

/** The last `count` lines. A commit has thousands, of which the others need not become text. */
function takeLast(lines: RecordLines, count: number): string[] {
  const { bytes } = lines;
  if (!bytes) return [...lines].slice(-count);
  let start = bytes.length;
  for (let taken = 0; taken < count && start > 0; taken++) start = bytes.lastIndexOf(LINE_FEED, start - 1);
  return Buffer.from(bytes.subarray(start + 1))
    .toString()
    .split('\n');
}

function parseRecord(line: string): { readonly summary: RecordSummary; readonly origin: RecordOrigin } {
  const record = JSON.parse(line) as Readonly<Record<string, unknown>>;
  const word = (key: string) => copy(record[key], WORD_CHARS_MAX);
  const component = word('component') ?? '';
  return {
    summary: {
      timestamp: word('timestamp'),
      component,
      severity: word('severity'),
      message: copy(record['message'], MESSAGE_CHARS_MAX) ?? '',
    },
    origin: { component, file: word('file') ?? '', offset: Number(record['offset'] ?? 0) },
  };
}

/** The beginning of a text; a copy, because a part of a string keeps the whole of it in memory. */
function copy(value: unknown, charsMax: number): string | null {
  return typeof value === 'string' ? Buffer.from(value.slice(0, charsMax)).toString() : null;
}
