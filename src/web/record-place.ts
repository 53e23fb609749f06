/** Place of a line in a timeline, the same in all processes of a fleet. */
export interface RecordPlace {
  /** Its time, as written. */
  readonly time: string;
  /** Its router. */
  readonly router: string;
  /** Its number among the lines of its router. */
  readonly seq: number;
}

const PLACE = /^(\d{4}-[0-9T:.-]{5,30}Z)_(\d{1,16})_(.*)$/s;
/** Text of the records of one page: a record has up to 64 KiB. Characters. */
const PAGE_CHARS_MAX = 1024 * 1024;

/** Orders by time; lines of a router at the same time keep the order of their commits. */
export function compareRecordPlaces(a: RecordPlace, b: RecordPlace): number {
  if (a.time !== b.time) return a.time < b.time ? -1 : 1;
  if (a.router !== b.router) return a.router < b.router ? -1 : 1;
  return a.seq - b.seq;
}

/** Renders a place as the value of `before`, which selects what is older. */
export function renderRecordPlace({ time, seq, router }: RecordPlace): string {
  return `${time}_${seq}_${router}`;
}

/** Parses a value of `before`; `undefined` for anything else. */
export function parseRecordPlace(before: string): RecordPlace | undefined {
  const [, time, seq, router] = PLACE.exec(before) ?? [];
  return time === undefined || router === undefined ? undefined : { time, router, seq: Number(seq) };
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
