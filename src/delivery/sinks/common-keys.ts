import { z } from 'zod';
import { renderDuration } from '../../base/index.ts';
import {
  byteSizeWithin,
  choice,
  codec,
  DURATION_MS_MIN,
  duration,
  durationOrNone,
  globs,
  name,
  renderByteSize,
  section,
  wholeNumber,
} from '../../settings/index.ts';
import type { BatchBounds } from '../contracts.ts';
import type { RecordFormat } from '../formats/format.ts';

/** Keys that several types of sinks have, each described once. */

/** Bounds the memory of a batch, which is held several times over while it is rendered. */
const BATCH_RECORDS_MOST = 100_000;
const BATCH_BYTES_LEAST = 1024;
const BATCH_BYTES_MOST = 64 * 1024 ** 2;
/** A longer wait would make the shipped records outdated. */
const BATCH_WAIT_MS_MAX = 5 * 60_000;
const TIMEOUT_MS_MAX = 3_600_000;
/** Receivers flush their memory within seconds; a longer replay would keep the spool large. */
const REPLAY_MS_MAX = 5 * 60_000;

const SEVERITIES = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency', 'none'] as const;
const EVENTS = ['line', 'log.gap', 'log.gap_end', 'log.repeat', 'log.reset', 'log.clock_jump'] as const;

/** Keys that select the records of a sink. */
const selectShape = {
  routers: globs('Globs of the routers whose records it gets; a leading `!` excludes.', {
    examples: ['plant-*', 'plant-7'],
  }).prefault(['*']),
  components: globs('Globs of the components whose records it gets; a leading `!` excludes.').prefault(['*']),
  severities: globs(
    `Globs of the severities that it gets; a leading \`!\` excludes. They are ${listWords(SEVERITIES)}, which stands for records without one.`,
    { examples: ['error', 'debug'], words: SEVERITIES },
  ).prefault(['*']),
  events: globs(
    `Globs of the kinds of records that it gets; a leading \`!\` excludes. They are ${listWords(EVENTS)}; \`line\` stands for all that is no event.`,
    { examples: ['log.*', 'line'], words: EVENTS },
  ).prefault(['*']),
};

/** Keys that every sink has, with the same meaning. */
export const commonShape = {
  name: name({ description: 'Unique name of the sink: its label `sink` in metrics, and the key of its position.' }),
  start: choice(
    {
      description: 'First record of a new sink: the `oldest` in the spool, or the next one stored (`newest`).',
    },
    ['oldest', 'newest'],
  ).prefault('oldest'),
  ...selectShape,
};

function listWords(words: readonly string[]): string {
  const quoted = words.map((word) => `\`${word}\``);
  return `${quoted.slice(0, -1).join(', ')} and ${quoted.at(-1)}`;
}

/** The key for the type of a sink. */
export function tag<const Word extends string>(word: Word) {
  return z.literal(word).meta({ description: 'Type of the sink; the other keys depend on it.' });
}

const batchShape = {
  records: wholeNumber({ description: 'Maximum number of records in a batch.' }, 1, BATCH_RECORDS_MOST).optional(),
  bytes: byteSizeWithin(
    { description: 'Maximum size of a batch, as records are stored. A larger record is sent alone.' },
    BATCH_BYTES_LEAST,
    BATCH_BYTES_MOST,
  ).optional(),
  wait: durationOrNone(
    { description: 'Maximum time a record waits for the batch to fill.' },
    DURATION_MS_MIN,
    BATCH_WAIT_MS_MAX,
  ).optional(),
};

/**
 * The key `batch`, with the defaults of a type. Over a network a batch waits briefly for more records, because each batch is
 * a request.
 */
export function batch({ recordsMax, bytesMax, waitMs }: BatchBounds) {
  const fallback = `{ records: ${recordsMax}, bytes: ${renderByteSize(bytesMax)}, wait: ${renderDuration(waitMs)} }`;
  // As prefault, the default of one type would appear at the keys of all.
  const description = `Size of a batch; omitted keys keep their default. Default: \`${fallback}\`.`;
  return codec(
    section(description, batchShape).optional(),
    'a map of keys',
    (own = {}): BatchBounds => ({
      recordsMax: own.records ?? recordsMax,
      bytesMax: own.bytes ?? bytesMax,
      waitMs: own.wait ?? waitMs,
    }),
    (own) => ({ records: own.recordsMax, bytes: own.bytesMax, wait: own.waitMs }),
  );
}

/** The key `format`; the first format is the default. It needs no words where there is only one. */
export function format<const Formats extends readonly [RecordFormat, ...RecordFormat[]]>(formats: Formats) {
  const description =
    "Record format: `native` is the agent's own, `ecs` the Elastic Common Schema, `otel` the OpenTelemetry data model.";
  const [fallback, another] = formats;
  const about = another === undefined ? { description: 'Record format.', kind: 'undocumented' } : { description };
  return choice(about, formats).prefault(fallback);
}

/** The key `timeout`. The default is long for a request, short for a person waiting for logs. */
export const timeout = duration(
  { description: 'Time limit of one delivery attempt; the delivery is then retried.' },
  DURATION_MS_MIN,
  TIMEOUT_MS_MAX,
).prefault('30s');

/** The key `replay`, with the default of a type. */
export function replay(fallback: string, description: string) {
  return durationOrNone({ description }, 1, REPLAY_MS_MAX).prefault(fallback);
}

/** The key `compress`, with the default of a type. */
export function compress(fallback: 'gzip' | 'none', what: string) {
  return choice({ description: `Compression of ${what}.` }, ['gzip', 'none']).prefault(fallback);
}
