import type { LogLine, LogLineGap, RecordPage } from '../api/logs.ts';
import { compareRecordPlaces, cutToPage, parseRecordPlace, type RecordPlace } from '../record-place.ts';
import { BEFORE_CHARS_MAX } from '../record-query.ts';
import { type Decode, fields, listOf, moment, number, orNull, text } from './decode.ts';

/** Lines of one answer; a page has 500 at most. */
const LINES_MAX = 500;

const place: Decode<string> = (value) =>
  typeof value === 'string' && value.length <= BEFORE_CHARS_MAX && parseRecordPlace(value) ? value : undefined;

/** Reads one line that another process sent. */
export const decodeLine = fields<LogLine>({
  router: text,
  timestamp: orNull(moment),
  observedTimestamp: orNull(moment),
  time: moment,
  component: text,
  tag: orNull(text),
  severity: orNull(text),
  message: text,
  uid: text,
  event: orNull(text),
  gap: orNull(
    fields<LogLineGap>({
      certainty: orNull(text),
      reason: orNull(text),
      from: orNull(moment),
      to: orNull(moment),
      bytesMin: orNull(number),
      gapUid: orNull(text),
    }),
  ),
  before: orNull(place),
});

const decodePage = fields<RecordPage>({
  records: listOf(decodeLine, LINES_MAX),
  // A place that cannot be read is no end.
  next: (value) => (value === null || value === undefined ? null : place(value)),
  searchedTo: orNull(moment),
  fault: orNull(text),
});

/**
 * Reads the answer of `GET /api/v1/records?before=…` of another process; lines that `isOwn` denies are left out. `undefined` when
 * it leads nowhere, or when none of its lines has a place among those of others.
 */
export function decodeRecords(
  answer: unknown,
  before: string | undefined,
  isOwn: (line: LogLine) => boolean,
): RecordPage | undefined {
  const page = decodePage(answer);
  if (!page || (page.records.length > 0 && page.records.every((line) => line.before === null))) return undefined;
  const [asked, next] = [parseRecordPlace(before ?? ''), parseRecordPlace(page.next ?? '')];
  if (asked && next && compareRecordPlaces(next, asked) > 0) return undefined;
  return { ...page, records: page.records.filter(isOwn) };
}

/**
 * Merges pages of several processes into one, the newest lines first. A page that is not the end of its process says nothing
 * of what is older than its `next`, so nothing older than the newest `next` is shown.
 */
export function mergeRecords(pages: readonly RecordPage[], limit: number): RecordPage {
  const ends = pages.flatMap(({ next, searchedTo }) => {
    const at = parseRecordPlace(next ?? '');
    return at ? [{ at, next, searchedTo }] : [];
  });
  const newest = ends.toSorted((a, b) => compareRecordPlaces(b.at, a.at))[0];
  const placed = pages
    .flatMap(({ records }) => records)
    .flatMap((line): { readonly line: LogLine; readonly at: RecordPlace; readonly message: string }[] => {
      const at = parseRecordPlace(line.before ?? '');
      return at && (!newest || compareRecordPlaces(at, newest.at) >= 0) ? [{ line, at, message: line.message }] : [];
    })
    .toSorted((a, b) => compareRecordPlaces(b.at, a.at));
  const shown = cutToPage(placed, limit);
  const last = shown.at(-1)?.line;
  const isCut = shown.length < placed.length && last !== undefined;
  return {
    records: shown.map(({ line }) => line),
    next: isCut ? last.before : (newest?.next ?? null),
    searchedTo: isCut ? last.time : (newest?.searchedTo ?? null),
    fault: pages.find(({ fault }) => fault !== null)?.fault ?? null,
  };
}
