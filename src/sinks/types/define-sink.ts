import type { Writable } from 'node:stream';
import { z } from 'zod';
import { renderDuration } from '../../base/index.ts';
import { LOG_EVENTS, ROUTER_EVENTS } from '../../model/index.ts';
import {
  accountShape,
  type apiKeyShape,
  type ConnectionPlan,
  checkAccount,
  checkProxy,
  checkTls,
  listAuthMethods,
  proxyKey,
  tls,
} from '../../net/index.ts';
import {
  byteSizeWithin,
  choice,
  codec,
  DURATION_MS_MIN,
  duration,
  durationOrNone,
  type Filled,
  globs,
  headersShape,
  isWritten,
  name,
  type Place,
  renderByteSize,
  type Settled,
  type SoundOf,
  section,
  wholeNumber,
} from '../../settings/index.ts';
import type { Destination, Sink } from '../contracts.ts';
import type { RecordFormat } from '../outgoing-record.ts';

/**
 * The settings of a sink: the keys of its schema, defaults applied, with secrets and the content of files in place of their
 * names.
 */
export type SettingsOf<Schema extends z.ZodObject> = Settled<Filled<z.output<Schema>>>;

export interface SinkSurroundings extends Pick<ConnectionPlan, 'clock' | 'onShortHello'> {
  /** Output of a sink of type `stdout`. */
  readonly stdout: Writable;
  readonly routers: () => number;
  /** Version of this program; absent = not sent to sinks. */
  readonly version?: string | undefined;
}

type SinkSchema = z.ZodObject<{ type: z.ZodLiteral<string> }>;

/** A type of sink, as listed in list.ts. */
export interface SinkDefinition<Schema extends SinkSchema = SinkSchema> {
  readonly schema: Schema;
  /** Rejects invalid combinations of keys. */
  check?(place: Place, keys: SoundOf<Schema>): void;
  /** Returns the file that no other sink may use, as written in the configuration. */
  findFile?(keys: SoundOf<Schema>): string | undefined;
  /** Creates the sink, without contacting the receiver. */
  open(settings: SettingsOf<Schema>, surroundings: SinkSurroundings): Destination;
}

export function defineSink<Schema extends SinkSchema>(definition: SinkDefinition<Schema>): SinkDefinition<Schema> {
  return definition;
}

/** Builds the schema of a sink: the keys that every sink has, then its own. */
export function sinkSchema<const Type extends string, Shape extends z.core.$ZodLooseShape>(
  type: Type,
  description: string,
  shape: Shape,
) {
  const tag = z.literal(type).meta({ description: 'Type of the sink; the other keys depend on it.' });
  return section(description, { ...commonShape, type: tag, ...shape });
}

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
const EVENTS = ['line', ...LOG_EVENTS, ...ROUTER_EVENTS] as const;

const commonShape = {
  name: name({ description: 'Unique name of the sink: its label `sink` in metrics, and the key of its position.' }),
  start: choice(
    {
      description: 'First record of a new sink: the `oldest` in the spool, or the next one stored (`newest`).',
    },
    ['oldest', 'newest'],
  ).prefault('oldest'),
  routers: globs('Globs of the routers whose records it gets; a leading `!` excludes.', {
    examples: ['plant-*', 'plant-7'],
  }).prefault(['*']),
  components: globs(
    'Globs of the components whose records it gets; a leading `!` excludes. Events of routers have none: `events` selects them alone.',
  ).prefault(['*']),
  severities: globs(
    `Globs of the severities that it gets; a leading \`!\` excludes. They are ${listWords(SEVERITIES)}, which stands for records without one.`,
    { examples: ['error', 'debug'], words: SEVERITIES },
  ).prefault(['*']),
  events: globs(
    `Globs of the kinds of records that it gets; a leading \`!\` excludes. They are ${listWords(EVENTS)}; \`line\` stands for all that is no event.`,
    { examples: ['log.*', 'router.*'], words: EVENTS },
  ).prefault(['line', 'log.*']),
};

function listWords(words: readonly string[]): string {
  const quoted = words.map((word) => `\`${word}\``);
  return `${quoted.slice(0, -1).join(', ')} and ${quoted.at(-1)}`;
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
export function batch({ recordsMax, bytesMax, waitMs }: Sink['batch']) {
  const fallback = `{ records: ${recordsMax}, bytes: ${renderByteSize(bytesMax)}, wait: ${renderDuration(waitMs)} }`;
  // As prefault, the default of one type would appear at the keys of all.
  const description = `Size of a batch; omitted keys keep their default. Default: \`${fallback}\`.`;
  return codec(
    section(description, batchShape).optional(),
    'a map of keys',
    (own = {}): Sink['batch'] => ({
      recordsMax: own.records ?? recordsMax,
      bytesMax: own.bytes ?? bytesMax,
      waitMs: own.wait ?? waitMs,
    }),
    (own) => ({ records: own.recordsMax, bytes: own.bytesMax, wait: own.waitMs }),
  );
}

/** The key `format`; the first format is the default. It needs no description where there is only one. */
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

/** Keys that all sinks over HTTP have. */
export const httpSinkShape = {
  ...accountShape,
  ...headersShape({
    description: 'Headers added to every request.',
    ofFiles: 'Headers whose values are read from files; one trailing line end is ignored. In addition to `headers`.',
  }),
  timeout,
  replay: replay(
    '0',
    'Records of this last period are sent again from the spool after a broken connection, a 5xx response or a restart of the agent. For receivers that acknowledge records before they are safe, such as VictoriaLogs; some records are duplicated. 0 = none.',
  ),
  tls,
  proxy: proxyKey(),
};

type HttpSinkKeys = SoundOf<z.ZodObject<typeof httpSinkShape & typeof apiKeyShape>>;
/** The settings of the client of a sink over HTTP, each present if the sink has the key. */
export type HttpSinkSettings = Settled<Filled<HttpSinkKeys>>;

/** Rejects invalid combinations of keys of an HTTP sink. `ownHeaders`: headers that other keys set, by name in lower case. */
export function checkHttpSink(
  place: Place,
  keys: HttpSinkKeys,
  url: string | undefined,
  ownHeaders: Readonly<Record<string, string>> = {},
): void {
  checkAccount(place, 'a sink');
  if (keys.username?.includes(':')) {
    const message = 'A user name must not contain ":", which separates it from the password in HTTP';
    place.file.faults.add([...place.path, 'username'], message);
  }
  checkHeaders(place, keys, ownHeaders);
  checkProxy(place, keys.proxy);
  checkTls(place, keys.tls, url?.startsWith('http:') ? '"url" begins with http://' : undefined);
}

/** Rejects a header that is set twice, ignoring case, or that another key of the sink already sets. */
function checkHeaders(place: Place, keys: HttpSinkKeys, ownHeaders: Readonly<Record<string, string>>): void {
  const { file, path } = place;
  const own = Object.entries(ownHeaders).filter(([, key]) => isWritten(place, key));
  const first = new Map([...listAuthMethods(place).map((key) => ['authorization', key] as const), ...own]);
  for (const map of ['headers', 'header_files'] as const) {
    for (const header of Object.keys(keys[map] ?? {})) {
      const earlier = first.get(header.toLowerCase());
      const message = `The header "${header}" is already set by "${earlier}"`;
      if (earlier !== undefined) file.faults.add([...path, map, header], message, { aim: 'key' });
      else first.set(header.toLowerCase(), `${map}.${header}`);
    }
  }
}
