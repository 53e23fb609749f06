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

/** A batch is held in memory, several times over while it is rendered. */
const BATCH_RECORDS_MOST = 100_000;
const BATCH_BYTES_LEAST = 1024;
const BATCH_BYTES_MOST = 64 * 1024 ** 2;
/** Longer, and what is shipped would be history. */
const BATCH_WAIT_MS_MAX = 5 * 60_000;
const TIMEOUT_MS_MAX = 3_600_000;
/** Receivers flush what they hold in memory within seconds; longer ones keep the spool large. */
const REPLAY_MS_MAX = 5 * 60_000;

const SEVERITIES = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency', 'none'] as const;
const EVENTS = ['line', 'log.gap', 'log.gap_end', 'log.repeat', 'log.reset', 'log.clock_jump'] as const;

/** Which records a sink gets. */
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

/** What every sink has, and what means the same in all of them. */
export const commonShape = {
  name: name({ description: 'Unique name of the sink: its label `sink` in metrics, and the key of its position.' }),
  start: choice(
    {
      description:
        'Where the sink begins when it is new: with the `oldest` record of the spool, or with those that come from then on (`newest`).',
    },
    ['oldest', 'newest'],
  ).prefault('oldest'),
  ...selectShape,
};

function listWords(words: readonly string[]): string {
  const quoted = words.map((word) => `\`${word}\``);
  return `${quoted.slice(0, -1).join(', ')} and ${quoted.at(-1)}`;
}

/** The key that says of which type a sink is. */
export function tag<const Word extends string>(word: Word) {
  return z.literal(word).meta({ description: 'What it is; the keys depend on it.' });
}

const batchShape = {
  records: wholeNumber({ description: 'Most records of a batch.' }, 1, BATCH_RECORDS_MOST).optional(),
  bytes: byteSizeWithin(
    { description: 'Most bytes of a batch, as records are stored. A larger record goes alone.' },
    BATCH_BYTES_LEAST,
    BATCH_BYTES_MOST,
  ).optional(),
  wait: durationOrNone(
    { description: 'How long a record may wait until a batch is full.' },
    DURATION_MS_MIN,
    BATCH_WAIT_MS_MAX,
  ).optional(),
};

/**
 * How many records go at once, with the defaults of a type. Over a network a batch waits a little for others, because each is a
 * request.
 */
export function batch({ recordsMax, bytesMax, waitMs }: BatchBounds) {
  const fallback = `{ records: ${recordsMax}, bytes: ${renderByteSize(bytesMax)}, wait: ${renderDuration(waitMs)} }`;
  // In its own place the default of one type would stand at the keys of all.
  const description = `How many records go at once; what is left out keeps its default. Default: \`${fallback}\`.`;
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

/** How a record is written; the first of the formats is the default. */
export function format<const Formats extends readonly [RecordFormat, ...RecordFormat[]]>(formats: Formats) {
  const description =
    formats.length === 1
      ? 'How records are written: in no other way.'
      : 'How records are written: `native` as the agent knows them, `ecs` in the Elastic Common Schema, `otel` in the model of OpenTelemetry.';
  const [fallback] = formats;
  return choice({ description }, formats).prefault(fallback);
}

/** Limit of one delivery. Long for a request, short for a person who waits for logs. */
export const timeout = duration(
  { description: 'Limit of one delivery; it is tried again.' },
  DURATION_MS_MIN,
  TIMEOUT_MS_MAX,
).prefault('30s');

/** How far back records go again, with the default of a type. */
export function replay(fallback: string, description: string) {
  return durationOrNone({ description }, 1, REPLAY_MS_MAX).prefault(fallback);
}

/** How something is compressed, with the default of a type. */
export function compress(fallback: 'gzip' | 'none', what: string) {
  return choice({ description: `How ${what} are compressed.` }, ['gzip', 'none']).prefault(fallback);
}
