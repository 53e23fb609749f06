import fc from 'fast-check';
import { expect, test } from 'vitest';
import { judgeLokiAnswer } from '../../../src/sinks/types/loki/answer.ts';
import { parseGoTime, parseLabelSet } from '../../../src/sinks/types/loki/entry-results.ts';
import { renderPush, type SentEntry } from '../../../src/sinks/types/loki/push.ts';

const STREAM = '{component="network", router="plant-7"}';
const OTHER = '{component="system", router="plant-7"}';

/** Entries at so many seconds after 2025-10-26 00:00:00 UTC. */
function sendAt(seconds: readonly number[], component = 'network'): SentEntry[] {
  const entries = seconds.map((second, index) => ({
    labels: { component, router: 'plant-7' },
    ns: `${1_761_436_800 + second}00001823${index % 10}`,
    line: `line ${index}`,
    metadata: { uid: `u${index}` },
  }));
  return [...renderPush(entries).sent];
}

/** What becomes of a push to which Loki answers 400 with these words; `undefined`: it took none of it. */
function judgePartialAnswer(words: string, sent: readonly SentEntry[]) {
  const answer = { status: 400, body: words, bytes: Buffer.from(words), sentBytes: 0, header: () => undefined };
  try {
    const { bytes: _, ...partial } = judgeLokiAnswer({ ...answer, quote: (text) => text }, sent, 'Sink logs');
    return partial;
  } catch {
    return undefined;
  }
}

const indexesOf = (answer: ReturnType<typeof judgePartialAnswer>) => answer?.refused?.map(({ index }) => index);

test('judgeLokiAnswer() reads the words of the ingester of Loki 3', () => {
  const words = [
    `entry with timestamp 2025-10-26 00:00:05.000018231 +0000 UTC ignored, reason: 'entry too far behind, entry timestamp is: 2025-10-26T00:00:05Z, oldest acceptable timestamp is: 2025-10-26T01:00:00Z',`,
    `user 'fake', total ignored: 1 out of 3 for stream: ${STREAM}`,
  ].join('\n');
  expect(judgePartialAnswer(words, sendAt([5000, 5, 4000]))).toEqual({
    refused: [
      {
        index: 1,
        code: '400',
        reason:
          'entry too far behind, entry timestamp is: 2025-10-26T00:00:05Z, oldest acceptable timestamp is: 2025-10-26T01:00:00Z',
      },
    ],
  });
});

test('judgeLokiAnswer() reads the words of Loki 2.4, with the stream behind each reason', () => {
  const words = `rpc error: code = Code(400) desc = entry with timestamp 2025-10-26 02:00:05.00001823 +0200 CEST ignored, reason: 'entry too far behind' for stream: ${STREAM},\ntotal ignored: 1 out of 1`;
  const sent = [...sendAt([5], 'system'), ...sendAt([5, 6])];
  expect(judgePartialAnswer(words, sent)).toEqual({
    refused: [{ index: 1, code: '400', reason: 'entry too far behind' }],
    warning: expect.stringContaining('the other 1'),
  });
});

test('judgeLokiAnswer() finds by the limit of a named line only what came behind it', () => {
  const reason = 'entry too far behind, oldest acceptable timestamp is: 2025-10-26T01:00:00Z';
  const words = `entry with timestamp 2025-10-26 00:00:05.000018232 +0000 UTC ignored, reason: '${reason}',\nuser 'fake', total ignored: 3 out of 6 for stream: ${STREAM}`;
  // The first line is older than the limit, and was taken before the limit rose.
  const sent = sendAt([3000, 7200, 5, 3599, 3600, 10]);
  expect(indexesOf(judgePartialAnswer(words, sent))).toEqual([2, 3, 5]);
  expect(judgePartialAnswer(words.replace(': 3 out', ': 4 out'), sent)).toMatchObject({
    refusedUnnamed: { records: 1, reason },
  });
  // More than were refused fit: then it is not known which.
  const fewer = judgePartialAnswer(words.replace(': 3 out', ': 2 out'), sent);
  expect(indexesOf(fewer)).toEqual([2]);
  expect(fewer?.refusedUnnamed?.records).toBe(1);
});

test('judgeLokiAnswer() finds lines of one moment in their own stream, one line for each name', () => {
  const line = (second: string) =>
    `entry with timestamp 2025-10-26 00:00:0${second}.00001823 +0000 UTC ignored, reason: 'entry out of order',`;
  const twins = [...sendAt([1], 'system'), ...sendAt([1]), ...sendAt([1]), ...sendAt([2])];
  const words = [line('1'), line('1'), `user 'fake', total ignored: 2 out of 3 for stream: ${STREAM}`].join('\n');
  expect(indexesOf(judgePartialAnswer(words, twins))).toEqual([1, 2]);
  const two = [
    line('1'),
    `total ignored: 1 out of 1 for stream: ${OTHER}`,
    line('2'),
    `total ignored: 1 out of 3 for stream: ${STREAM}`,
  ];
  expect(indexesOf(judgePartialAnswer(two.join('\n'), twins))).toEqual([0, 3]);
});

test('judgeLokiAnswer() lets lines come again that only met the limit of their stream', () => {
  const words = [
    `entry with timestamp 2025-10-26 00:00:01.00001823 +0000 UTC ignored, reason: 'Per stream rate limit exceeded (limit: 3MB/sec) while attempting to ingest for stream '${STREAM}' totaling 10B, consider splitting a stream',`,
    `entry with timestamp 2025-10-26 00:00:02.000018231 +0000 UTC ignored, reason: 'entry too far behind',`,
    `user 'fake', total ignored: 2 out of 3 for stream: ${STREAM}`,
  ].join('\n');
  expect(judgePartialAnswer(words, sendAt([1, 2, 3]))).toEqual({
    refused: [{ index: 1, code: '400', reason: 'entry too far behind' }],
    retry: { indexes: [0], reason: expect.stringContaining('Per stream rate limit exceeded') },
  });
});

test('judgeLokiAnswer() lets all lines of a stream come again that met its limit, of which Loki names ten', () => {
  const seconds = Array.from({ length: 30 }, (_, index) => index);
  const named = Array.from(
    { length: 10 },
    (_, index) =>
      `entry with timestamp 2025-10-26 00:00:0${index}.00001823${index} +0000 UTC ignored, reason: 'Per stream rate limit exceeded',`,
  );
  const words = [...named, `user 'fake', total ignored: 25 out of 30 for stream: ${STREAM}`].join('\n');
  const answer = judgePartialAnswer(words, [...sendAt(seconds), ...sendAt([1], 'system')]);
  expect(answer?.refused).toEqual([]);
  expect(answer?.refusedUnnamed).toBeUndefined();
  // Those that it has taken as well, because it does not say which they are.
  expect(answer?.retry).toEqual({ indexes: seconds, reason: 'Per stream rate limit exceeded' });
});

test('judgeLokiAnswer() finds all that is too old by the last words of a Loki before 2.9', () => {
  const words = `entry for stream '${OTHER}' has timestamp too old: 2025-10-26 02:00:05.5 +0200 CEST, oldest acceptable timestamp is: 2025-10-26 02:00:10.205042134 +0200 CEST`;
  const sent = [...sendAt([1, 9, 10, 11]), ...sendAt([5], 'system')];
  expect(judgePartialAnswer(words, sent)).toMatchObject({ refused: [{ index: 0 }, { index: 1 }, { index: 4 }] });
  const early = `entry for stream '${OTHER}' has timestamp too old: 2025-10-26 00:00:05.5 +0000 UTC`;
  expect(indexesOf(judgePartialAnswer(early, sent))).toEqual([0, 4]);
});

test('judgeLokiAnswer() does not assume which lines of one second were too old', () => {
  const say = (count: number) =>
    `${count} errors like: entry for stream '${STREAM}' has timestamp too old: 2025-10-26T00:00:05Z, oldest acceptable timestamp is: 2025-10-26T00:00:05Z`;
  const sent = [...sendAt([5, 5, 6]), ...sendAt([5], 'system')];
  expect(indexesOf(judgePartialAnswer(say(2), sent))).toEqual([0, 1]);
  expect(judgePartialAnswer(say(1), sent)).toEqual({
    refused: [],
    refusedUnnamed: { records: 1, reason: expect.stringContaining('too old: 2025-10-26T00:00:05Z') },
  });
  expect(indexesOf(judgePartialAnswer(`${say(2)}; ${say(1).replace(STREAM, OTHER)}`, sent))).toEqual([0, 1, 3]);
});

test('judgeLokiAnswer() finds all that is too new by the words about one', () => {
  const words = `entry for stream '${STREAM}' has timestamp too new: 2025-10-26T00:00:05Z`;
  expect(indexesOf(judgePartialAnswer(words, [...sendAt([4, 5, 6]), ...sendAt([5, 6], 'system')]))).toEqual([1, 2, 4]);
});

test('judgeLokiAnswer() counts words about lines that it does not find', () => {
  const sent = sendAt([1, 2, 3]);
  const unknown = `entry with timestamp 2025-10-26 09:00:00 +0000 UTC ignored, reason: 'entry out of order',`;
  expect(judgePartialAnswer(unknown, sent)).toEqual({
    refused: [],
    refusedUnnamed: { records: 1, reason: 'entry out of order' },
  });
  const total = `user 'fake', total ignored: 2 out of 3 for stream: {unknown="x"}`;
  expect(judgePartialAnswer(total, sent)).toEqual({
    refused: [],
    refusedUnnamed: { records: 2, reason: 'dropped without a reason' },
  });
  expect(
    judgePartialAnswer(`2 errors like: Max entry size '100' bytes exceeded for stream '${STREAM}' while adding`, sent),
  ).toMatchObject({
    refusedUnnamed: { records: 2 },
  });
});

test('judgeLokiAnswer() knows which lines were refused when all were', () => {
  const total = `user 'fake', total ignored: 300 out of 300 for stream: ${STREAM}`;
  expect(indexesOf(judgePartialAnswer(total, sendAt([1, 2, 3])))).toEqual([0, 1, 2]);
});

test('judgeLokiAnswer() takes words about streams that were never sent, and other words, for none', () => {
  const sent = sendAt([1, 2]);
  for (const words of [
    '',
    'snappy: corrupt input',
    `stream '{a="b"}' has label value too long: 'x'`,
    `Error parsing labels '{a=}' with error: parse error`,
    `entry for stream '${STREAM}' has timestamp too strange: 2025-10-26T00:00:05Z`,
    `user 'fake', total ignored: 0 out of 2 for stream: ${STREAM}`,
  ]) {
    expect(judgePartialAnswer(words, sent), words).toBeUndefined();
  }
});

test('judgeLokiAnswer() never names a line twice, nor more than there were, whatever Loki says', () => {
  const sent = [...sendAt([1, 2, 3, 4000]), ...sendAt([1, 5], 'system')];
  const time = fc.constantFrom(
    '2025-10-26 00:00:01.00001823 +0000 UTC',
    '2025-10-26T00:00:05Z',
    '2025-10-26T01:00:00Z',
    '9999-99-99 00:00:00 Z',
  );
  const stream = fc.constantFrom(STREAM, OTHER, '{', '{a="', '{}', '{component="network\\', '');
  const piece = fc.oneof(
    fc
      .tuple(time, time, stream)
      .map(
        ([at, limit, of]) =>
          `entry with timestamp ${at} ignored, reason: 'too far, oldest acceptable timestamp is: ${limit}' for stream: ${of},`,
      ),
    fc.tuple(fc.nat(9), stream).map(([count, of]) => `total ignored: ${count} out of 9 for stream: ${of}`),
    fc
      .tuple(fc.nat(9), stream, time, time)
      .map(
        ([count, of, at, limit]) =>
          `${count} errors like: entry for stream '${of}' has timestamp too old: ${at}, oldest acceptable timestamp is: ${limit}`,
      ),
    fc.tuple(stream, time).map(([of, at]) => `entry for stream '${of}' has timestamp too new: ${at}`),
    fc.tuple(stream).map(([of]) => `Max entry size '5' bytes exceeded for stream '${of}' while adding an entry`),
    fc.tuple(stream).map(([of]) => `stream '${of}' has label name too long: 'x'`),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(piece, fc.constantFrom('\n', '; ', ' '))), (pieces) => {
      const answer = judgePartialAnswer(pieces.flat().join(''), sent);
      if (!answer) return;
      const { refused = [], refusedUnnamed, retry } = answer;
      const indexes = [...refused.map(({ index }) => index), ...(retry?.indexes ?? [])];
      expect(new Set(indexes).size).toBe(indexes.length);
      expect(indexes.every((index) => index >= 0 && index < sent.length)).toBe(true);
      expect(refused.map(({ index }) => index)).toEqual(
        refused.map(({ index }) => index).toSorted((one, other) => one - other),
      );
      expect(indexes.length + (refusedUnnamed?.records ?? 0)).toBeLessThanOrEqual(sent.length);
      expect(indexes.length + (refusedUnnamed?.records ?? 0)).toBeGreaterThan(0);
    }),
    { numRuns: 500 },
  );
});

test('judgeLokiAnswer() is done with hostile words in a moment', () => {
  const sent = sendAt(Array.from({ length: 1000 }, (_, index) => index));
  for (const part of [
    `stream '{"`,
    `stream '{a="\\`,
    `entry with timestamp 2`,
    `' for stream: {`,
    `9 errors like: `,
    '{"{',
    `x'`,
  ]) {
    const words = part.repeat(10_000);
    // What grows with the square of its length would outlast the time that a test may take.
    expect(() => judgePartialAnswer(words, sent), part).not.toThrow();
  }
});

test('parseLabelSet() undoes the quotes of Go and leaves out what Loki added', () => {
  const labels = { component: 'a"b\\c\n\x01\u2028ü}', router: "it's" };
  const text = `{__stream_shard__="7", component="a\\"b\\\\c\\n\\x01\\u2028ü}", router="it's"}`;
  expect(parseLabelSet(text)).toBe(JSON.stringify(labels));
  expect(parseLabelSet('{b="\\U0001f600", a="\\a\\b\\f\\r\\t\\v"}')).toBe(
    JSON.stringify({ a: '\x07\b\f\r\t\v', b: '😀' }),
  );
  expect(parseLabelSet('{}')).toBe('{}');
  for (const broken of ['', '{', 'a="b"', '{a=b}', '{a="b}', '{a="b"} x', '{a="\\"}', undefined]) {
    expect(parseLabelSet(broken), broken).toBeUndefined();
  }
  expect(parseLabelSet('{a="\\Uffffffff"}')).toBe('{"a":"\ufffd"}');
});

test('parseGoTime() reads what Go prints, in any zone and with any fraction', () => {
  expect(parseGoTime('2025-10-26 00:59:58.000018231 +0000 UTC')).toBe('1761440398000018231');
  expect(parseGoTime('2025-10-26 02:59:58.5 +0200 CEST')).toBe('1761440398500000000');
  expect(parseGoTime('2025-10-26T00:59:58Z')).toBe('1761440398000000000');
  expect(parseGoTime('2025-10-26T02:59:58+02:00')).toBe('1761440398000000000');
  for (const broken of ['', 'yesterday', '2025-13-26 00:59:58 +0000 UTC', '2025-10-26'])
    expect(parseGoTime(broken)).toBeUndefined();
});
