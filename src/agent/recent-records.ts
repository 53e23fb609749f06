import type { RecordLines } from '../logs/index.ts';
import type { RecordSummary } from '../web/index.ts';

/** Of one router: what fits on a screen. */
const ROUTER_RECORDS_MAX = 20;
/** Of all routers, some 15 MB: 20 for each of 2,000 routers, 4 for each of 10,000. */
const RECORDS_MAX = 40_000;
/** More of a message is for those who search the sink. */
const MESSAGE_CHARS_MAX = 240;
const WORD_CHARS_MAX = 80;
const LINE_FEED = 0x0a;

/** Where a record was found. */
export interface RecordPlace {
  readonly component: string;
  readonly file: string;
  readonly offset: number;
}

/** The last records of each router as they were stored, redacted and cut, and no more of all routers than fits. */
export class RecentRecords {
  /** The newest last. The router that has told nothing for longest stands first. */
  readonly #routers = new Map<string, RecordSummary[]>();
  #count = 0;

  /** Takes over rendered records of one router; answers with the place of the last one. */
  note(router: string, lines: RecordLines): RecordPlace | undefined {
    if (lines.length === 0) return undefined;
    const kept = this.#routers.get(router) ?? [];
    this.#routers.delete(router);
    this.#routers.set(router, kept);
    // A larger fleet has fewer for each, so that no router is without any.
    const max = Math.max(1, Math.min(ROUTER_RECORDS_MAX, Math.floor(RECORDS_MAX / this.#routers.size)));
    const parsed = takeLast(lines, max).map(parseRecord);
    kept.push(...parsed.map(({ summary }) => summary));
    const surplus = kept.splice(0, Math.max(0, kept.length - max));
    this.#count += parsed.length - surplus.length;
    while (this.#count > RECORDS_MAX) this.#dropOne();
    return parsed.at(-1)?.place;
  }

  /** The newest first. */
  list(router: string): readonly RecordSummary[] {
    return (this.#routers.get(router) ?? []).toReversed();
  }

  forget(router: string): void {
    this.#count -= this.#routers.get(router)?.length ?? 0;
    this.#routers.delete(router);
  }

  #dropOne(): void {
    const [first] = this.#routers;
    if (!first) return;
    const [router, records] = first;
    records.shift();
    this.#count--;
    if (records.length === 0) this.#routers.delete(router);
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

function parseRecord(line: string): { readonly summary: RecordSummary; readonly place: RecordPlace } {
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
    place: { component, file: word('file') ?? '', offset: Number(record['offset'] ?? 0) },
  };
}

/** The beginning of a text; a copy, because a part of a string keeps the whole of it in memory. */
function copy(value: unknown, charsMax: number): string | null {
  return typeof value === 'string' ? Buffer.from(value.slice(0, charsMax)).toString() : null;
}
