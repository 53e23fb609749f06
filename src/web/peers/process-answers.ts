import type { LetterDetail, LetterPage, LetterSummary, SinkSummary, SpoolSummary } from '../api/delivery.ts';
import type { FleetMinute, ProcessSummary, RunSummary } from '../api/process.ts';
import { type Decode, fields, flag, listOf, moment, number, oneOf, or, orNull, text } from './decode.ts';

/** Entries of one process. */
const MINUTES_MAX = 361;
const SINKS_MAX = 200;
const NAMES_MAX = 20_000;
const LETTERS_MAX = 200;

const decodeSpool = fields<SpoolSummary>({
  records: number,
  bytes: number,
  bytesMax: number,
  secondsToFull: orNull(number),
  isHeldBack: flag,
  routersHeldBack: or(listOf(text, NAMES_MAX), []),
});

const decodeSink = fields<SinkSummary>({
  name: text,
  type: or(text, ''),
  state: or(oneOf(['up', 'down', 'unknown']), 'unknown'),
  recordsDelivered: or(number, 0),
  recordsPerSecond: or(number, 0),
  recordsWaiting: or(number, 0),
  lagSeconds: or(number, 0),
  deadLetters: or(number, 0),
  since: orNull(moment),
  startedAt: orNull(moment),
  lastSuccess: orNull(moment),
  error: orNull(text),
  reason: orNull(text),
  lastFailure: orNull(fields({ at: moment, error: text })),
});

/** Reads the answer of `GET /api/v1/process`. */
export const decodeProcess = fields<ProcessSummary>({
  minutes: listOf(
    fields<FleetMinute>({ at: moment, up: number, down: number, stale: number, other: number }),
    MINUTES_MAX,
  ),
  gaps: number,
  runs: fields<RunSummary>({ running: number, waiting: number, heldBack: number, max: number }),
  sinks: listOf(decodeSink, SINKS_MAX),
  spool: decodeSpool,
});

const LETTER = {
  id: number,
  sink: text,
  at: moment,
  router: or(text, ''),
  component: or(text, ''),
  timestamp: orNull(moment),
  code: orNull(text),
  reason: or(text, ''),
  isReplayed: flag,
};

const decodeCount: Decode<readonly [string, number]> = (value) => {
  const [sink, letters] = Array.isArray(value) ? [text(value[0]), number(value[1])] : [];
  return sink === undefined || letters === undefined ? undefined : [sink, letters];
};

/** Reads the answer of `GET /api/v1/dead-letters`. */
export const decodeLetters = fields<LetterPage>({
  letters: listOf(fields<LetterSummary>(LETTER), LETTERS_MAX),
  hasMore: flag,
  counts: listOf(decodeCount, SINKS_MAX),
  fault: orNull(text),
});

/** Reads the answer of `GET /api/v1/dead-letters/NUMBER`. */
export const decodeLetter = fields<LetterDetail>({ ...LETTER, record: text });
