import { z } from 'zod';
import { renderDuration } from '../../base/index.ts';
import {
  byteSizeWithin,
  choice,
  DURATION_MS_MIN,
  duration,
  durationOrNone,
  fingerprint,
  flag,
  globs,
  name,
  renderByteSize,
  secret,
  section,
  text,
  wholeNumber,
} from '../../settings/index.ts';
import {
  BATCH_BYTES_LEAST,
  BATCH_BYTES_MOST,
  BATCH_RECORDS_MOST,
  BATCH_WAIT_MS_MAX,
  SINK_BATCHES,
  SINK_REPLAY_MS_MAX,
  SINK_TIMEOUT_MS,
  SINK_TIMEOUT_MS_MAX,
} from '../defaults.ts';
import type { SinkFormat, SinkSettings } from './settings.ts';
import { headerFiles, headers, token } from './sink-values.ts';

/** Keys that several types of sinks have, each described once. */

const SEVERITIES = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency', 'none'] as const;
const EVENTS = ['line', 'log.gap', 'log.gap_end', 'log.repeat', 'log.reset', 'log.clock_jump'] as const;

/** The key that says of which type a sink is. */
export function tag<const Word extends SinkSettings['type']>(word: Word) {
  return z.literal(word).meta({ description: 'What it is; the keys depend on it.' });
}

/** What every sink has, and what means the same in all of them. */
export const commonShape = {
  name: name({ description: 'Unique name of the sink: its label `sink` in metrics, and the key of its position.' }),
  start: choice(
    {
      description:
        'Where the sink begins when it is new: with the `oldest` record of the spool, or with those that come from then on (`newest`).',
      default: 'oldest',
    },
    ['oldest', 'newest'],
  ).optional(),
  routers: globs('Globs of the routers whose records it gets; a leading `!` excludes.', {
    examples: ['plant-*', 'plant-7'],
  }).optional(),
  components: globs('Globs of the components whose records it gets; a leading `!` excludes.').optional(),
  severities: globs(
    `Globs of the severities that it gets; a leading \`!\` excludes. They are ${listWords(SEVERITIES)}, which stands for records without one.`,
    { examples: ['error', 'debug'], words: SEVERITIES },
  ).optional(),
  events: globs(
    `Globs of the kinds of records that it gets; a leading \`!\` excludes. They are ${listWords(EVENTS)}; \`line\` stands for all that is no event.`,
    { examples: ['log.*', 'line'], words: EVENTS },
  ).optional(),
};

function listWords(words: readonly string[]): string {
  const quoted = words.map((word) => `\`${word}\``);
  return `${quoted.slice(0, -1).join(', ')} and ${quoted.at(-1)}`;
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

/** How many records go at once, with the defaults of a type. */
export function batch(type: keyof typeof SINK_BATCHES) {
  const { recordsMax, bytesMax, waitMs } = SINK_BATCHES[type];
  const fallback = `{ records: ${recordsMax}, bytes: ${renderByteSize(bytesMax)}, wait: ${renderDuration(waitMs)} }`;
  // A default in its own place would be lost on the way to the reference, because the values are parsed.
  return section(
    `How many records go at once; what is left out keeps its default. Default: \`${fallback}\`.`,
    batchShape,
  ).optional();
}

/** How a record is written; the first of the formats is the default. */
export function format<const Formats extends readonly [SinkFormat, ...SinkFormat[]]>(formats: Formats) {
  const description =
    formats.length === 1
      ? 'How records are written: in no other way.'
      : 'How records are written: `native` as the agent knows them, `ecs` in the Elastic Common Schema, `otel` in the model of OpenTelemetry.';
  return choice({ description, default: formats[0] }, formats);
}

export const timeout = duration(
  {
    description: 'Limit of one delivery; it is tried again.',
    default: renderDuration(SINK_TIMEOUT_MS),
  },
  DURATION_MS_MIN,
  SINK_TIMEOUT_MS_MAX,
).optional();

/** How far back records go again, with the default of a type. */
export const replay = (fallbackMs: number, description: string) =>
  durationOrNone(
    { description, default: fallbackMs === 0 ? '0' : renderDuration(fallbackMs) },
    1,
    SINK_REPLAY_MS_MAX,
  ).optional();

export const compress = (fallback: 'gzip' | 'none', what: string) =>
  choice({ description: `How ${what} are compressed.`, default: fallback }, ['gzip', 'none']).optional();

/** Addresses over TLS only. */
export const tls = section('How the certificate of the other side is checked. Only where the address is one of TLS.', {
  ca_file: text({
    description: 'PEM file with the certificates of the authorities to trust, instead of those of the system.',
    kind: 'path',
  }).optional(),
  server_name: text({
    description: 'Host name that the certificate must carry. Default: the host of the address.',
  }).optional(),
  cert_file: text({
    description: 'PEM file with the certificate that the agent shows when it is asked for one. With `key_file`.',
    kind: 'path',
  }).optional(),
  key_file: text({
    description: 'PEM file with the private key of `cert_file`, without a passphrase.',
    kind: 'path',
  }).optional(),
  fingerprint_sha256: fingerprint({
    description:
      'SHA-256 of the certificate of the other side, in hexadecimal. No other certificate is accepted; without `ca_file` this one needs nobody else to vouch for it. Not for `nats`.',
  }).optional(),
  insecure_skip_verify: flag({
    description: 'Accepts every certificate. Whoever stands in between can then read records and secrets.',
    default: false,
  }).optional(),
}).optional();

/** Ways to prove who the agent is; at most one of them. */
export const accountShape = {
  username: text({ description: 'Account, with `password` or `password_file`.' }).optional(),
  password: secret({ description: 'Password of the account.' }).optional(),
  password_file: text({
    description: 'File that holds the password; one line end after it is ignored. Instead of `password`.',
    kind: 'path',
  }).optional(),
  bearer_token: token({ description: 'Token, instead of an account.' }).optional(),
  bearer_token_file: text({
    description: 'File that holds the token; one line end after it is ignored. Instead of `bearer_token`.',
    kind: 'path',
  }).optional(),
};

/** What sinks over HTTP have in common. */
export const webShape = {
  ...accountShape,
  headers: headers('Headers that are added to every request.').optional(),
  header_files: headerFiles(
    'Headers whose values stand in files; one line end after a value is ignored. Beside `headers`.',
  ).optional(),
  timeout,
  replay: replay(
    0,
    'How far back records are sent again, from the spool, after a broken connection, an answer 5xx or a restart of the agent. For receivers that acknowledge records before they are safe, such as VictoriaLogs: some records come twice. 0: none are.',
  ),
  tls,
};
