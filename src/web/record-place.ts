/** Place of a line among those of its router. */
export interface RecordPlace {
  /** Its time, as written. */
  readonly time: string;
  /** Number of its commit among those of its router. */
  readonly seq: number;
  /** Number of the records behind it in that commit. */
  readonly back: number;
}

const PLACE = /^(\d{4}-[0-9T:.-]{5,30}Z)_(\d{1,15})_(\d{1,15})$/;
/** Text of the records of one page: a record has up to 64 KiB. Characters. */
const PAGE_CHARS_MAX = 1024 * 1024;

/** True if a line stands before another one: by its time; at the same time, by the order of the commits. */
export function isOlder(one: RecordPlace, other: RecordPlace): boolean {
  if (one.time !== other.time) return one.time < other.time;
  return one.seq === other.seq ? one.back > other.back : one.seq < other.seq;
}

/** Renders a place as the value of `before`, which selects what is older. */
export function renderRecordPlace({ time, seq, back }: RecordPlace): string {
  return `${time}_${seq}_${back}`;
}

/** Parses a value of `before`; `undefined` for anything else. */
export function parseRecordPlace(before: string): RecordPlace | undefined {
  const [, time, seq, back] = PLACE.exec(before) ?? [];
  return time === undefined ? undefined : { time, seq: Number(seq), back: Number(back) };
}

/** Cuts lines to one page, by their number and by the length of their texts; there is at least one, if there are any. */
export function cutToPage<Line extends { readonly message: string }>(lines: readonly Line[], limit: number): Line[] {
  const page: Line[] = [];
  let chars = 0;
  for (const line of lines) {
    chars += line.message.length;
    if (page.length === limit || (chars > PAGE_CHARS_MAX && page.length > 0)) break;
    page.push(line);
  }
  return page;
}
