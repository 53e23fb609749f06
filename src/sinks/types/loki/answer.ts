import { decodeObject, parseJson } from '../../../base/index.ts';
import { DeliveryError, type DeliveryFailure, type DeliveryReport } from '../../contracts.ts';
import { type HttpAnswer, toAnswerError } from '../../http/messages.ts';
import { EntryResults, parseGoTime, parseLabelSet, type Rule } from './entry-results.ts';
import type { SentEntry } from './push.ts';

const TAKEN = 204;
/** An administrator has stopped ingestion (`block_ingestion_until`, pkg/validation/limits.go). */
const BLOCKED = 260;
/** Longer than for a busy server, because an administrator must act. Milliseconds. */
const BLOCKED_RETRY_MS = 5 * 60_000;

/** Evaluates the response to a push. Throws `DeliveryError` when Loki stored none of the entries. */
export function judgeLokiAnswer(answer: HttpAnswer, sent: readonly SentEntry[], what: string): DeliveryReport {
  const { status, sentBytes: bytes } = answer;
  if (status === TAKEN) return { bytes };
  const words = readErrorText(answer);
  if (status === 400) {
    const fault = findSettingFault(words, answer, what);
    if (fault) throw fault;
    const partial = judgePartialAnswer(words, sent);
    if (partial) return { bytes, ...partial };
  }
  throw toLokiError(words, answer, what);
}

function toLokiError(words: string, answer: HttpAnswer, what: string): DeliveryError {
  const { status } = answer;
  const plain = toAnswerError({ ...answer, body: words }, what);
  const { code, disposition, retryAfterMs } = plain;
  const change = (options: Partial<ConstructorParameters<typeof DeliveryError>[2]>, other: DeliveryFailure = code) =>
    new DeliveryError(other, plain.message, { disposition, retryAfterMs, answer: String(status), ...options });
  if (status === BLOCKED) {
    const hint = 'Ask the administrator of Loki about block_ingestion_until; delivery continues when it ends';
    return change({ disposition: 'retry', retryAfterMs: BLOCKED_RETRY_MS, hint }, 'throttled');
  }
  if (status < 300) {
    // Loki drops lines silently with block_ingestion_status_code 200; a server of another kind may answer everything with
    // 200.
    const hint =
      'Loki answers 204 for stored lines: check the url of this sink, and block_ingestion_status_code of Loki';
    return change({ disposition: 'operator', hint });
  }
  // The distributor reports Loki's internal gRPC limit as a failure.
  if (status >= 500 && /message larger than max/i.test(words))
    return change({ disposition: 'dead-letter' }, 'too_large');
  if (status === 429 && /stream limit/i.test(words)) {
    return change({ hint: 'Set layout of this sink to shard, or raise max_global_streams_per_user of Loki' });
  }
  if (status === 401 && /no org id/i.test(words)) return change({ hint: 'Set tenant of this sink' });
  return plain;
}

/** Returns the error for rejections that concern every record: delivery waits until Loki's settings change. */
function findSettingFault(words: string, answer: HttpAnswer, what: string): DeliveryError | undefined {
  const hint = /includes structured metadata, but this feature is disallowed/i.test(words)
    ? 'Set allow_structured_metadata of Loki, which needs a schema of version 13 or later'
    : /missing required labels/i.test(words)
      ? 'This sink cannot set the labels that enforced_labels of Loki requires'
      : undefined;
  if (hint === undefined) return undefined;
  return new DeliveryError('failed', `${what} answered with status ${answer.status}: ${answer.quote(words)}`, {
    disposition: 'operator',
    hint,
    answer: String(answer.status),
  });
}

function readErrorText({ body }: HttpAnswer): string {
  if (!body.startsWith('{"')) return body;
  const { message, error } = decodeObject(parseJson(body)) ?? {};
  const words = message ?? error;
  return typeof words === 'string' ? words : body;
}

/** Maximum length of the parsed text: Loki names ten entries and counts the rest. Characters. */
const TEXT_READ_CHARS_MAX = 32 * 1024;
/** Rate-limit text of the ingester. These entries are valid and must be retried. */
const RATE_LIMITED = /rate limit exceeded/i;
/** A time as Go prints it. */
const TIME = String.raw`(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)? ?(?:Z|[+-]\d\d:?\d\d))`;
/** Stream labels in braces, with any values. Loki's longest value has 2048 bytes. */
const STREAM = String.raw`'(\{(?:[^"{}]|"(?:[^"\\]|\\.){0,4096}"){0,1000}\})'`;

/**
 * Finds the entries of a push that Loki's error text reports as dropped; `undefined` when the text names none, which means
 * that Loki rejected the whole push.
 *
 * The distributor drops entries that break a limit and keeps the rest (pkg/distributor/distributor.go `Push`,
 * pkg/distributor/validator.go; texts in pkg/validation/validate.go). It reports every kind of error, prefixed with `N errors
 * like: ` (pkg/util/errors.go `GroupedErrors`); before Loki 2.9, only the last. The ingester drops entries too far behind the
 * newest of their stream, names at most ten (`max_returned_stream_errors`) and counts the rest (pkg/ingester/stream.go
 * `errorForFailedEntries`). With several streams it reports one only, so drops in the others are unknown; the report then
 * contains a warning.
 */
function judgePartialAnswer(words: string, sent: readonly SentEntry[]): DeliveryReport | undefined {
  const results = new EntryResults(sent);
  const text = words.slice(0, TEXT_READ_CHARS_MAX);
  const isOfStream = readIngesterText(text, results);
  readDistributorText(text, results);
  const answer = results.finish();
  const streams = new Set(sent.map(({ stream }) => stream)).size;
  if (!answer || !isOfStream || streams === 1) return answer;
  const warning = `Loki dropped lines of one stream and did not report on the other ${streams - 1}`;
  return { ...answer, warning };
}

interface NamedEntry {
  readonly time: string;
  readonly reason: string;
  readonly stream: string | undefined;
}

/**
 * Reads the error text of the ingester and returns true when there is any: one line `entry with timestamp 2025-10-26
 * 00:59:58.000018231 +0000 UTC ignored, reason: '…',` per entry, then `user 'tenant', total ignored: 1 out of 500 for stream:
 * {…}`. In Loki 2.4, each reason is followed by the stream.
 */
function readIngesterText(text: string, results: EntryResults): boolean {
  let isFound = false;
  let named: NamedEntry[] = [];
  for (const line of text.split('\n')) {
    const [, time, reason, place] =
      /entry with timestamp (\d.{0,80}?) ignored, reason: '(.*)'(?: for stream: (\{.*\}))?,?$/.exec(line) ?? [];
    if (time !== undefined && reason !== undefined) named.push({ time, reason, stream: parseLabelSet(place) });
    const [, total, ofStream] = /total ignored: (\d{1,9}) out of \d+(?: for stream: (\{.*\}))?/.exec(line) ?? [];
    isFound ||= time !== undefined || total !== undefined;
    if (total === undefined) continue;
    settleStream(named, parseLabelSet(ofStream) ?? named[0]?.stream, Number(total), results);
    named = [];
  }
  settleStream(named, named[0]?.stream, named.length, results);
  return isFound;
}

function settleStream(
  named: readonly NamedEntry[],
  stream: string | undefined,
  total: number,
  results: EntryResults,
): void {
  const limits: { readonly index: number; readonly second: number }[] = [];
  let found = 0;
  for (const { time, reason, stream: own } of named) {
    const index = results.findAt(own ?? stream, parseGoTime(time));
    if (index === undefined) continue;
    found++;
    if (RATE_LIMITED.test(reason)) results.retry(index, reason);
    else results.refuse(index, reason);
    limits.push({ index, second: readLimit(reason) });
  }
  const limited = named.find((entry) => RATE_LIMITED.test(entry.reason));
  if (limited && total > found) {
    // That limit applies to all entries of a push together. Entries dropped for another reason are named the next time.
    results.retryAll((entry) => stream === undefined || entry.stream === stream, limited.reason);
    return;
  }
  const reason = named.at(-1)?.reason ?? 'dropped without a reason';
  // The limit of a stream never decreases: a later entry older than the limit was dropped as well.
  const isCertain: Rule = (entry, at) =>
    entry.stream === stream && limits.some(({ index, second }) => at > index && toSecond(entry) < second);
  results.refuseUpTo(total - found, reason, isCertain);
}

/** Reads each kind of error of the distributor: the entries that it certainly covers, and those that it names. */
function readDistributorText(text: string, results: EntryResults): void {
  results.read(
    text,
    `entry for stream ${STREAM} has timestamp too old: ${TIME}(?:[^,;\n]*, oldest acceptable timestamp is: ${TIME})?`,
    {
      // One limit applies to all entries of a push.
      rule: (_stream, time, limit) => isOlder(readSecond(limit ?? time)),
      named: (stream, time) => isAt(stream, readSecond(time)),
    },
  );
  results.read(text, `entry for stream ${STREAM} has timestamp too new: ${TIME}`, {
    rule: (_stream, time) => isNewer(readSecond(time)),
    named: (stream, time) => isAt(stream, readSecond(time)),
  });
  results.read(text, String.raw`[Mm]ax entry size '(\d+)' bytes exceeded for stream`, {
    rule: (limit) => (entry) => Buffer.byteLength(entry.line) > Number(limit),
  });
  results.read(
    text,
    String.raw`stream ${STREAM} has structured metadata too large: '\d+' bytes, limit: '(\d+)' bytes`,
    {
      rule: (_stream, limit) => (entry) => readMetadataBytes(entry.metadata) > Number(limit),
    },
  );
  results.read(text, String.raw`stream ${STREAM} has too many structured metadata labels: '\d+', limit: '(\d+)'`, {
    rule: (_stream, limit) => (entry) => Object.keys(entry.metadata).length > Number(limit),
  });
  // These reject a stream: their count is not a number of entries.
  results.read(
    text,
    String.raw`stream ${STREAM} has (?:\d+ label names; limit \d+|label (?:name|value) too long|duplicate label name)`,
    {
      rule: (stream) => {
        const key = parseLabelSet(stream);
        return (entry) => entry.stream === key;
      },
      isUncounted: true,
    },
  );
}

/** Loki prints limits in whole seconds: only an entry of an earlier second is certainly older. */
function isOlder(second: number): Rule {
  return (entry) => toSecond(entry) < second;
}

function isNewer(second: number): Rule {
  return (entry) => toSecond(entry) > second;
}

function isAt(stream: string | undefined, second: number): Rule {
  const key = parseLabelSet(stream);
  return (entry) => entry.stream === key && toSecond(entry) === second;
}

function toSecond({ ns }: SentEntry): number {
  return Number(ns.slice(0, -9));
}

/** Returns `NaN`, which compares false with every number, when the text is not a time. */
function readSecond(time: string | undefined): number {
  const ns = parseGoTime(time ?? '');
  return ns === undefined ? Number.NaN : Number(ns.slice(0, -9));
}

function readLimit(reason: string): number {
  const [, limit] = /oldest acceptable timestamp is: (\S+)/.exec(reason) ?? [];
  return readSecond(limit);
}

/** Returns the size of structured metadata as Loki counts it: names and values. Bytes. */
function readMetadataBytes(metadata: Readonly<Record<string, string>>): number {
  return Object.entries(metadata).reduce(
    (sum, entry) => sum + entry.reduce((size, text) => size + Buffer.byteLength(text), 0),
    0,
  );
}
