import { readMetadataBytes } from './entry.ts';
import { LokiJudge, type PartialAnswer, type Rule } from './judge.ts';
import type { SentEntry, StreamKey } from './request.ts';
import { parseGoTime, parseLabelSet } from './words.ts';

/** How much of an answer is read: Loki names ten entries and then a number. Characters. */
const WORDS_READ_MAX = 32 * 1024;
/** Of the ingester, between the others: nothing is wrong with these entries. */
const RATE_LIMITED = /rate limit exceeded/i;
/** A time as Go prints it. */
const TIME = String.raw`(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)? ?(?:Z|[+-]\d\d:?\d\d))`;
/** The labels of a stream in braces, whatever their values hold. Loki's longest value has 2048 bytes. */
const STREAM = String.raw`'(\{(?:[^"{}]|"(?:[^"\\]|\\.){0,4096}"){0,1000}\})'`;

/**
 * Finds out of Loki's words which entries of a push it did not keep; `undefined` when the words speak of none, so that
 * the push was refused as a whole.
 *
 * The distributor drops what breaks a rule and keeps the rest (pkg/distributor/distributor.go `Push`,
 * pkg/distributor/validator.go). Its words are in pkg/validation/validate.go; it says all of them with
 * `N errors like: ` in front (pkg/util/errors.go `GroupedErrors`), before Loki 2.9 only the last. The ingester does the
 * same with what lies too far behind the newest of its stream, names at most ten (`max_returned_stream_errors`) and
 * counts the rest (pkg/ingester/stream.go `errorForFailedEntries`). Of several streams it speaks of one only, so that what
 * it did not keep of the others is known to nobody; the answer then has a warning.
 */
export function judgePartialAnswer(words: string, sent: readonly SentEntry[]): PartialAnswer | undefined {
  const judge = new LokiJudge(sent);
  const text = words.slice(0, WORDS_READ_MAX);
  const isOfStream = readIngesterWords(text, judge);
  readDistributorWords(text, judge);
  const answer = judge.finish();
  const streams = new Set(sent.map(({ stream }) => stream)).size;
  if (!answer || !isOfStream || streams === 1) return answer;
  const warning = `Loki did not keep lines of one stream, and does not say whether it kept all of the other ${streams - 1}`;
  return { ...answer, warning };
}

interface NamedEntry {
  readonly time: string;
  readonly reason: string;
  readonly stream: StreamKey | undefined;
}

/**
 * `entry with timestamp 2025-10-26 00:59:58.000018231 +0000 UTC ignored, reason: '…',` per line, and at the end
 * `user 'tenant', total ignored: 1 out of 500 for stream: {…}`. In Loki 2.4 the stream stands behind each reason.
 * Says whether there were such words.
 */
function readIngesterWords(text: string, judge: LokiJudge): boolean {
  let isFound = false;
  let named: NamedEntry[] = [];
  for (const line of text.split('\n')) {
    const [, time, reason, place] =
      /entry with timestamp (\d.{0,80}?) ignored, reason: '(.*)'(?: for stream: (\{.*\}))?,?$/.exec(line) ?? [];
    if (time !== undefined && reason !== undefined) named.push({ time, reason, stream: parseLabelSet(place) });
    const [, total, ofStream] = /total ignored: (\d{1,9}) out of \d+(?: for stream: (\{.*\}))?/.exec(line) ?? [];
    isFound ||= time !== undefined || total !== undefined;
    if (total === undefined) continue;
    settleStream(named, parseLabelSet(ofStream) ?? named[0]?.stream, Number(total), judge);
    named = [];
  }
  settleStream(named, named[0]?.stream, named.length, judge);
  return isFound;
}

function settleStream(
  named: readonly NamedEntry[],
  stream: StreamKey | undefined,
  total: number,
  judge: LokiJudge,
): void {
  const limits: { readonly index: number; readonly second: number }[] = [];
  let found = 0;
  for (const { time, reason, stream: own } of named) {
    const index = judge.findAt(own ?? stream, parseGoTime(time));
    if (index === undefined) continue;
    found++;
    if (RATE_LIMITED.test(reason)) judge.putOff(index, reason);
    else judge.refuse(index, reason);
    limits.push({ index, second: readLimit(reason) });
  }
  const reason = named.findLast((entry) => !RATE_LIMITED.test(entry.reason))?.reason ?? 'it was not kept';
  // The limit of a stream never falls: what came behind a named entry and is older than its limit was not kept either.
  const isCertain: Rule = (entry, at) =>
    entry.stream === stream && limits.some(({ index, second }) => at > index && toSecond(entry) < second);
  judge.refuseUpTo(total - found, reason, isCertain);
}

/** Each kind of words, which entries they mean for certain, and which they name. */
function readDistributorWords(text: string, judge: LokiJudge): void {
  judge.read(
    text,
    `entry for stream ${STREAM} has timestamp too old: ${TIME}(?:[^,;\n]*, oldest acceptable timestamp is: ${TIME})?`,
    {
      // All entries of a push are held against one limit.
      rule: (_stream, time, limit) => isOlder(readSecond(limit ?? time)),
      named: (stream, time) => isAt(stream, readSecond(time)),
    },
  );
  judge.read(text, `entry for stream ${STREAM} has timestamp too new: ${TIME}`, {
    rule: (_stream, time) => isNewer(readSecond(time)),
    named: (stream, time) => isAt(stream, readSecond(time)),
  });
  judge.read(text, String.raw`[Mm]ax entry size '(\d+)' bytes exceeded for stream`, {
    rule: (limit) => (entry) => Buffer.byteLength(entry.line) > Number(limit),
  });
  judge.read(text, String.raw`stream ${STREAM} has structured metadata too large: '\d+' bytes, limit: '(\d+)' bytes`, {
    rule: (_stream, limit) => (entry) => readMetadataBytes(entry.metadata) > Number(limit),
  });
  judge.read(text, String.raw`stream ${STREAM} has too many structured metadata labels: '\d+', limit: '(\d+)'`, {
    rule: (_stream, limit) => (entry) => Object.keys(entry.metadata).length > Number(limit),
  });
  // These condemn a stream: their number is not one of entries.
  judge.read(
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

/** Loki prints its limits in whole seconds: only what lies in an earlier second is older for certain. */
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

/** `NaN`, which nothing is older or newer than, when the text is no time. */
function readSecond(time: string | undefined): number {
  const ns = parseGoTime(time ?? '');
  return ns === undefined ? Number.NaN : Number(ns.slice(0, -9));
}

function readLimit(reason: string): number {
  const [, limit] = /oldest acceptable timestamp is: (\S+)/.exec(reason) ?? [];
  return readSecond(limit);
}
