import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { PrefixHash } from '../../src/logs/position/identity.ts';
import { createFile, createStreamState, type LogFile, type StreamState } from '../../src/logs/position/position.ts';
import { LogError } from '../../src/logs/reading/errors.ts';
import {
  type FileBeginning,
  FileReading,
  type ReadingOptions,
  type ReadingResult,
  type ReadingStart,
} from '../../src/logs/reading/file-reading.ts';
import type { RecordBatch } from '../../src/logs/records/record-batch.ts';
import { Zone } from '../../src/logs/time/zone.ts';
import type { LogRecord } from '../../src/model/index.ts';
import { countRuns } from '../support/sampled.ts';
import { bodyOf, cutInto, cuts } from './chunking.ts';

const FIRST = '2026-11-21 09:36:49 [wan] first\n';
const SECOND = '2026-11-21 09:36:50 [wan] second\n';
const WALL = Date.UTC(2026, 10, 21, 9, 36, 49);
const THIRD = '2026-11-21 09:36:51 [wan] third\n';

const proof = (bytes: Uint8Array | string) => {
  const hash = new PrefixHash();
  hash.update(Buffer.from(bytes));
  return hash.prove();
};
const sha = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest('hex');

interface Options extends Partial<ReadingOptions> {
  readonly stream?: StreamState | undefined;
}

function createOptions({ stream, ...options }: Options = {}): ReadingOptions {
  return {
    name: 'network/current',
    begin: ({ key, known, isUntimed }) => start(known ?? createFile(key, 0, isUntimed), stream),
    candidates: [],
    acceptsNew: true,
    isClosed: false,
    endMs: Date.UTC(2026, 10, 21, 12),
    onBatch: () => {},
    batchBytes: Infinity,
    ...options,
  };
}

function start(file: LogFile, stream?: StreamState): ReadingStart {
  const context = {
    router: { name: 'plant-7', labels: {} },
    component: 'network',
    zone: new Zone('UTC'),
    observedMs: Date.UTC(2026, 10, 21, 12),
    stream,
    file: 'network/current',
    flags: [],
  };
  return { file, context };
}

interface Scanned {
  readonly result: ReadingResult;
  readonly messages: readonly string[];
  readonly records: readonly LogRecord[];
  readonly scan: FileReading;
  /** What a later reading is given, after a restart. */
  readonly file: LogFile | undefined;
}

async function scan(content: string | Uint8Array | readonly Uint8Array[], options: Options = {}): Promise<Scanned> {
  const chunks = typeof content === 'string' || content instanceof Uint8Array ? [Buffer.from(content)] : content;
  const reading = new FileReading(createOptions(options));
  const result = await reading.read(bodyOf(chunks));
  const batch = reading.takeBatch();
  const records = [...batch.records].map((json) => JSON.parse(json) as LogRecord);
  return {
    result,
    records,
    messages: records.map(({ message }) => message),
    scan: reading,
    file: reading.file && clone(reading.file),
  };
}

/** As an file is after it was stored and read back. */
function clone(file: LogFile): LogFile {
  return JSON.parse(JSON.stringify(file)) as LogFile;
}

/** The file that holds `content`, as it stands once that was read. */
async function readFile(content: string): Promise<LogFile> {
  const { file } = await scan(content);
  if (!file) throw new TypeError('Nothing was read');
  return file;
}

describe('a new file', () => {
  test('FileReading reads whole lines and keeps the half one for later', async () => {
    const { result, messages, file } = await scan(`${FIRST}${SECOND}2026-11-21 09:36:51 [wan] ha`);
    expect(result.kind).toBe('taken');
    expect(messages).toEqual(['first', 'second']);
    expect(file).toMatchObject({
      key: sha(FIRST),
      gen: 0,
      off: FIRST.length + SECOND.length,
      proof: proof(FIRST + SECOND),
      lastStart: FIRST.length,
    });
  });

  test('FileReading reads an unterminated last line when the file is closed', async () => {
    const { messages, file } = await scan(`${FIRST}2026-11-21 09:36:50 [wan] no end`, { isClosed: true });
    expect(messages).toEqual(['first', 'no end']);
    const whole = `${FIRST}2026-11-21 09:36:50 [wan] no end`;
    expect(file).toMatchObject({ off: whole.length, proof: proof(whole) });
  });

  test('FileReading reads a closed file of one unterminated line', async () => {
    const line = FIRST.slice(0, -1);
    const { messages, file } = await scan(line, { isClosed: true });
    expect(messages).toEqual(['first']);
    expect(file).toMatchObject({ key: sha(line), off: line.length });
  });

  test.each([
    ['empty', '', false],
    ['empty and closed', '', true],
    ['half a line', FIRST.slice(0, -1), false],
    ['a notice of repeated lines, so far', `${' '.repeat(16)}- Last output repeated twice -\n`, false],
  ])('FileReading finds nothing in a file that is %s', async (_what, content, isClosed) => {
    const { result, records, file } = await scan(content, { isClosed });
    expect(result).toEqual({ kind: 'nothing' });
    expect(records).toEqual([]);
    expect(file).toBeUndefined();
  });

  test('FileReading counts a first line without a time as the identity of the file, and reads it at once', async () => {
    const { messages, records, file } = await scan(`\tat main()\n${FIRST}`);
    expect(messages).toEqual(['\tat main()', 'first']);
    expect(records[0]?.flags).toEqual(['unparsed']);
    expect(file).toMatchObject({ key: sha('\tat main()\n'), isUntimed: true });
    expect((await scan('\tat main()\n')).messages).toEqual(['\tat main()']);
    expect((await scan(FIRST)).file?.isUntimed).toBeUndefined();
  });

  test('FileReading counts a notice before the first line to the identity of the file, and reads it', async () => {
    const notice = '                - Last output repeated twice -\n';
    const { messages, file } = await scan(notice + FIRST + SECOND);
    expect(messages).toEqual([notice.trim(), 'first', 'second']);
    expect(file?.key).toBe(sha(notice + FIRST));
  });

  test('FileReading gives two files that begin alike one key, and asks which file it is', async () => {
    const begin = vi.fn(({ key }: FileBeginning) => start(createFile(key, 3)));
    const { file, records } = await scan(FIRST + SECOND, { begin });
    expect(begin).toHaveBeenCalledExactlyOnceWith({
      key: sha(FIRST),
      firstWallAsUtcMs: WALL,
      isUntimed: false,
      known: undefined,
    });
    expect(file?.gen).toBe(3);
    expect(records[0]?.uid).not.toBe((await scan(FIRST)).records[0]?.uid);
  });

  test('FileReading skips empty lines and counts their bytes', async () => {
    const { records, file } = await scan(`${FIRST}\n\n${SECOND}\n`);
    expect(records.map(({ offset }) => offset)).toEqual([0, FIRST.length + 2]);
    expect(file?.off).toBe(FIRST.length + SECOND.length + 3);
  });

  test('FileReading leaves a new file alone when only known ones are wanted', async () => {
    const { result, records } = await scan(FIRST + SECOND, { acceptsNew: false });
    expect(result).toEqual({ kind: 'unrelated', candidate: undefined, firstWallAsUtcMs: WALL });
    expect(records).toEqual([]);
  });

  test('FileReading defers a new file that may not be read yet, by the time of its first line', async () => {
    const begin = vi.fn(() => Promise.resolve(undefined));
    const { result, records } = await scan(FIRST + SECOND, { begin });
    expect(result).toEqual({ kind: 'deferred' });
    expect(records).toEqual([]);
    expect(begin).toHaveBeenCalledWith(expect.objectContaining({ firstWallAsUtcMs: WALL, known: undefined }));
  });
});

describe('a file that was begun', () => {
  test('FileReading goes on behind what was read, with the same identity', async () => {
    const begun = await readFile(FIRST);
    const { result, messages, records, file } = await scan(FIRST + SECOND + THIRD, { candidates: [begun] });
    expect(result.kind).toBe('taken');
    expect(messages).toEqual(['second', 'third']);
    expect(records[0]?.offset).toBe(FIRST.length);
    expect(file).toMatchObject({ key: begun.key, off: FIRST.length + SECOND.length + THIRD.length });
  });

  test('FileReading gives records that equal those of one reading', async () => {
    const all = FIRST + SECOND + THIRD;
    const { records: whole } = await scan(all);
    const begun = await readFile(FIRST + SECOND);
    const { records } = await scan(all, { candidates: [begun] });
    expect(records).toEqual(whole.slice(2));
  });

  test('FileReading finds nothing new in a file that did not grow', async () => {
    const begun = await readFile(FIRST + SECOND);
    for (const content of [FIRST + SECOND, `${FIRST}${SECOND}2026-11-21 09`]) {
      const { result, records, file } = await scan(content, { candidates: [begun], acceptsNew: false });
      expect(result.kind).toBe('taken');
      expect(records).toEqual([]);
      expect({ ...file, tornAt: [] }).toEqual(begun);
    }
  });

  test('FileReading does not take a file that has become shorter for the one that was begun', async () => {
    const begun = await readFile(FIRST + SECOND);
    const { result, records } = await scan(FIRST, { candidates: [begun], acceptsNew: false });
    expect(result).toMatchObject({ kind: 'unrelated', candidate: begun });
    expect(records).toEqual([]);
  });

  test('FileReading does not take a file that only begins alike for the one that was begun, and hands out nothing', async () => {
    const begun = await readFile(FIRST + SECOND);
    const before = clone(begun);
    const other = FIRST + SECOND.replace('second', 'SECOND') + THIRD;
    const onBatch = vi.fn();
    const options = { candidates: [begun], onBatch, batchBytes: 1 };
    const { result, records } = await scan(cutInto(Buffer.from(other), 5), options);
    expect(result).toMatchObject({ kind: 'unrelated', candidate: before });
    expect(records).toEqual([]);
    expect(onBatch).not.toHaveBeenCalled();
    expect(begun).toEqual(before);
  });

  test('FileReading knows the file among several by its beginning', async () => {
    const other = await readFile(SECOND);
    const begun = await readFile(FIRST);
    const { result, messages } = await scan(FIRST + THIRD, { candidates: [other, begun], acceptsNew: false });
    expect(result).toMatchObject({ kind: 'taken', file: { key: begun.key, gen: begun.gen } });
    expect(messages).toEqual(['third']);
    expect(other.off).toBe(SECOND.length);
  });

  test('FileReading takes the one that was read furthest of several that begin alike', async () => {
    const short = await readFile(FIRST);
    const long = { ...(await readFile(FIRST + SECOND)), gen: 1 };
    const { result } = await scan(FIRST + SECOND + THIRD, { candidates: [short, long] });
    expect(result).toMatchObject({ kind: 'taken', file: { gen: 1 } });
  });

  test('FileReading finds nothing in an empty file when another is looked for', async () => {
    const begun = await readFile(FIRST);
    expect((await scan('', { candidates: [begun] })).result).toEqual({ kind: 'nothing' });
  });
});

describe('a body that is no log', () => {
  const PAGE = '<!doctype html>\n<html><body>Please log in</body></html>\n';
  const ERROR = '{"error": [{"log_file": "is busy"}]}';

  test.each([
    ['a page', PAGE, {}],
    ['an error', ERROR, {}],
    ['an error of several lines', '{\n  "status": "busy"\n}\n', {}],
    ['an error, instead of an archive', ERROR, { isClosed: true }],
    ['a page, instead of an archive', PAGE, { isClosed: true }],
    ['a part of a page, by its media type', '<p>Log in</p>\n', { mediaType: 'text/html; charset=utf-8' }],
    ['a value, by its media type', '{"status":"busy"}\n', { mediaType: 'application/json' }],
    ['a page that quotes lines', `<html>\n${FIRST}${SECOND}</html>\n`, {}],
    ['a page that is longer than the head', `<html>\n${FIRST.repeat(1000)}`, {}],
  ])('FileReading throws error_page for %s', async (_what, content, options) => {
    for (const chunks of [[Buffer.from(content)], cutInto(Buffer.from(content), 1000)]) {
      const reading = scan(chunks, options);
      await expect(reading).rejects.toBeInstanceOf(LogError);
      await expect(reading).rejects.toMatchObject({ code: 'error_page', disposition: 'retry' });
    }
  });

  test.each<[string, string, number, Options?]>([
    ['lines without a time', 'no\ntime\n', 2],
    ['lines of JSON', '{"a":1}\n{"error":2}\n', 2],
    ['one line of JSON', '{"a":1}\n', 1],
    ['lines of JSON, by the media type too', '{"a":1}\n{"b":2}\n', 2, { mediaType: 'application/json' }],
    ['lines of JSON that are longer than the head', '{"a":1}\n'.repeat(3000), 3000],
    ['lines with a priority', '<13>Nov 21 09:36:49 plant wan: up\n', 1, { mediaType: 'text/html' }],
    ['lines of a kernel', '[    1.000000] up\n[    1.500000] eth0\n', 2],
    ['lines, whatever the media type', FIRST + SECOND, 2, { mediaType: 'text/html' }],
    ['a part of a page without a media type', '<p>Log in</p>\n', 1],
  ])('FileReading takes %s for a log', async (_what, content, lines, options = {}) => {
    for (const isClosed of [false, true]) {
      expect((await scan(content, { isClosed, ...options })).messages).toHaveLength(lines);
    }
  });

  test('FileReading takes a log whose first line begins like a page', async () => {
    const { messages } = await scan('{"a": 1}\n2026-11-21 09:36:49 [wan] <html>\n');
    expect(messages).toEqual(['{"a": 1}', '<html>']);
  });

  test('FileReading takes a short body without a time at the second look, if no other log had the same one', async () => {
    const TEXT = 'Please log in\n';
    const text = { key: sha(TEXT), sha: sha(TEXT) };
    const first = await scan(TEXT, { texts: { own: undefined, others: [] } });
    expect(first).toMatchObject({ result: { kind: 'deferred', text }, messages: [] });
    const own = { key: text.key, sha: sha('other') };
    const alone = await scan(`${TEXT}grown\n`, { texts: { own, others: [text] } });
    expect(alone.messages).toEqual(['Please log in', 'grown']);
    const reading = scan(TEXT, { texts: { own, others: [text] } });
    await expect(reading).rejects.toMatchObject({ code: 'error_page' });
    const known = await readFile(TEXT);
    const grown = await scan(`${TEXT}grown\n`, { candidates: [known], texts: { own: undefined, others: [] } });
    expect(grown.messages).toEqual(['grown']);
  });

  test('FileReading takes a first line that is longer than its head for a line with a time', async () => {
    const content = Buffer.from(`2026-11-21 09:36:49 [wan] ${'x'.repeat(30_000)}\n${SECOND}`);
    for (const size of [content.length, 4096, 1000]) {
      const { messages, file } = await scan(cutInto(content, size));
      expect(messages.map(({ length }) => length)).toEqual([30_000, 6]);
      expect(file?.key).toBe(sha(content.subarray(0, 16 * 1024)));
    }
  });
});

describe('a log with the newest line first', () => {
  const at = (minute: number) => `2026-11-21 09:${String(minute).padStart(2, '0')}:00 [wan] minute ${minute}\n`;
  const downFrom = (minute: number, lines: number) => Array.from({ length: lines }, (_, index) => at(minute - index));

  test.each([
    ['five lines', downFrom(40, 5)],
    ['lines with equal times between', downFrom(40, 6).flatMap((line) => [line, line])],
    ['lines without a time between', downFrom(40, 6).flatMap((line) => [line, '\tat main()\n'])],
    ['a clock that was set meanwhile', [...downFrom(20, 9), ...downFrom(59, 30)]],
  ])('FileReading throws reversed for %s', async (_what, lines) => {
    const bytes = Buffer.from(lines.join(''));
    for (const isClosed of [false, true]) {
      for (const chunks of [[bytes], cutInto(bytes, 30)]) {
        await expect(scan(chunks, { isClosed })).rejects.toMatchObject({ code: 'reversed' });
      }
    }
  });

  test.each([
    ['four lines', downFrom(40, 4)],
    ['a clock that was set back', [...downFrom(50, 1), at(10), at(11), at(12), at(13), at(14)]],
    ['a clock that was set back again and again', [50, 40, 41, 30, 31, 20, 21, 10, 11].map(at)],
    ['equal times', Array.from({ length: 30 }, () => at(1))],
    ['times of an unset clock', [5, 4, 3, 2, 1, 0].map((minute) => at(minute).replace('2026', '1970'))],
  ])('FileReading takes %s for a log like any other', async (_what, lines) => {
    const { messages } = await scan(lines.join(''), { isClosed: true });
    expect(messages.filter((message) => message.startsWith('minute'))).toHaveLength(lines.length);
  });

  test('FileReading goes on in a file that was begun, whatever its times', async () => {
    const begun = await readFile(FIRST);
    const { messages } = await scan(FIRST + downFrom(30, 9).join(''), { candidates: [begun] });
    expect(messages.filter((message) => message.startsWith('minute'))).toHaveLength(9);
  });
});

describe('a file that begins with the rest of a record', () => {
  const KIB = 1024;
  const rest = (bytes: number) => `${'\tat frame\n'.repeat(Math.ceil(bytes / 10) - 1)}\tat main()\n`;

  test('FileReading finds the time of the first line that has one within 16 KiB, however the body is cut', async () => {
    for (const [place, wallMs] of [
      [15 * KIB, WALL],
      [20 * KIB, undefined],
    ] as const) {
      const begin = vi.fn(({ key, known }: FileBeginning) => start(known ?? createFile(key, 0)));
      const content = Buffer.from(rest(place) + FIRST + SECOND);
      for (const size of [content.length, 1000]) {
        const { messages, file } = await scan(cutInto(content, size), { begin });
        expect(messages.slice(-2)).toEqual(['first', 'second']);
        expect(file).toMatchObject({ key: sha('\tat frame\n'), off: content.length });
        expect(begin).toHaveBeenLastCalledWith(expect.objectContaining({ firstWallAsUtcMs: wallMs }));
      }
    }
  });
});

describe('a body that breaks off', () => {
  test('FileReading throws what the body throws, and what came before it is whole and can be taken', async () => {
    const cause = new RangeError('cut');
    const reading = new FileReading(createOptions());
    const body = (async function* () {
      yield Buffer.from(`${FIRST}${SECOND}2026-11`);
      throw cause;
    })();
    await expect(reading.read(body)).rejects.toBe(cause);
    expect(reading.takeBatch().records).toHaveLength(2);
    const { file } = reading;
    expect(file).toMatchObject({ off: FIRST.length + SECOND.length, proof: proof(FIRST + SECOND) });
    const { messages } = await scan(FIRST + SECOND + THIRD, { candidates: file ? [clone(file)] : [] });
    expect(messages).toEqual(['third']);
  });

  test('FileReading has no file and nothing to take when a body breaks off before its file is proven', async () => {
    const begun = await readFile(FIRST + SECOND);
    const reading = new FileReading(createOptions({ candidates: [begun] }));
    const body = (async function* () {
      yield Buffer.from(FIRST);
      throw new RangeError('cut');
    })();
    await expect(reading.read(body)).rejects.toThrow('cut');
    expect(reading.file).toBeUndefined();
    expect(reading.takeBatch().records).toHaveLength(0);
    expect(begun.off).toBe(FIRST.length + SECOND.length);
  });
});

describe('batches', () => {
  test('FileReading hands out batches during the reading, and the file stands behind each', async () => {
    const lines = Array.from({ length: 100 }, (_, index) => `2026-11-21 09:36:49 [wan] line ${index}\n`);
    const text = lines.join('');
    const batches: { records: number; file: LogFile }[] = [];
    const reading: FileReading = new FileReading(createOptions({ onBatch: (batch) => record(batch), batchBytes: 500 }));
    const record = (batch: RecordBatch) => {
      expect(batch.bytes).toBeGreaterThanOrEqual(500);
      batches.push({ records: batch.records.length, file: clone(reading.file ?? createFile('', 0)) });
    };
    await reading.read(bodyOf(cutInto(Buffer.from(text), 64)));
    const { records } = reading.takeBatch();
    expect(batches.length).toBeGreaterThan(4);
    let count = 0;
    for (const batch of batches) {
      count += batch.records;
      const read = lines.slice(0, count).join('');
      expect(batch.file).toMatchObject({ off: read.length, proof: proof(read) });
    }
    expect(count + records.length).toBe(100);
  });

  test('FileReading lets everything else go on while it reads chunks that are there already', async () => {
    const chunk = Buffer.from('2026-11-21 09:36:49 [wan] line\n'.repeat(2048));
    let turns = 0;
    const count = () => {
      turns++;
      turn = setImmediate(count);
    };
    let turn = setImmediate(count);
    const { records } = await scan(Array.from({ length: 16 }, () => chunk));
    clearImmediate(turn);
    expect(records).toHaveLength(16 * 2048);
    expect(turns).toBeGreaterThanOrEqual(4);
  });

  test('FileReading counts the bytes of the lines and those without a time', async () => {
    const reading = new FileReading(createOptions());
    await reading.read(bodyOf([Buffer.from(`${FIRST}2026-13-45 no\n${SECOND}`)]));
    expect(reading.takeBatch()).toMatchObject({ bytes: FIRST.length + SECOND.length + 14, unparsed: 1 });
    expect(reading.takeBatch()).toMatchObject({ records: { length: 0 }, bytes: 0, unparsed: 0 });
  });
});

/** Everything observable about a reading. */
async function outcome(chunks: readonly Uint8Array[], options: Options) {
  try {
    const { result, records, file, scan: reading } = await scan(chunks, options);
    return { result, records, file, stream: reading.stream };
  } catch (cause) {
    if (!(cause instanceof LogError)) throw cause;
    return { code: cause.code };
  }
}

describe('any file', () => {
  const line = fc.oneof(
    { weight: 5, arbitrary: fc.nat(99).map((second) => `2026-11-21 09:36:${String(second).padStart(2, '0')} [wan] x`) },
    fc.constantFrom(
      '',
      '\r',
      'no time',
      '    at stack',
      '- Last output repeated twice -',
      '2026',
      '<html>',
      '{"error":1}',
    ),
    fc.constant('2026-11-21 09:36:49 [wan] \u0000\u00c3_ü'),
    fc.constantFrom(17_000, 70_000).map((length) => `2026-11-21 09:36:49 [long] ${'y'.repeat(length)}`),
    fc
      .oneof(fc.constantFrom(5000, 17_000), fc.integer({ min: 16_100, max: 16_400 }))
      .map((length) => 'z'.repeat(length)),
  );
  const content = fc
    .tuple(fc.array(line, { maxLength: 8 }), fc.boolean())
    .map(([lines, hasEnd]) => Buffer.from(lines.join('\n') + (hasEnd ? '\n' : ''), 'latin1'));

  test('FileReading comes to the same for every way to cut a body into chunks', () =>
    fc.assert(
      fc.asyncProperty(content, cuts, fc.boolean(), async (bytes, places, isClosed) => {
        const options = { isClosed };
        const expected = await outcome([bytes], options);
        expect(await outcome(cutInto(bytes, places), options)).toEqual(expected);
        for (const size of [128, 1024]) expect(await outcome(cutInto(bytes, size), options)).toEqual(expected);
      }),
      { numRuns: countRuns(300) },
    ));

  test('FileReading comes to the same for every way to cut a body whose first time stands at the end of its head', async () => {
    for (let place = 16 * 1024 - 300; place < 16 * 1024 + 10; place++) {
      const bytes = Buffer.from(`${'z'.repeat(place - 1)}\n${FIRST}${SECOND}`);
      expect(await outcome(cutInto(bytes, 128), {})).toEqual(await outcome([bytes], {}));
    }
  });

  test.for([
    ['', '11/12/2026 09:36:49 [wan] x\n11/21/2026 09:36:50 [wan] y\n'],
    ['behind a line of another form', '2026-11-21 09:36:49 [wan] x\n11/21/2026 09:36:50 [wan] y\n'],
    ['behind what a power cut has left', '\0\0\x002026-11-21 09:36:49 [wan] x\n11/21/2026 09:36:50 [wan] y\n'],
  ])('FileReading learns the order of day and month alike for every way to cut a body %s', async ([, text = '']) => {
    const bytes = Buffer.from(text);
    const stream = createStreamState();
    const whole = await outcome([bytes], { stream });
    for (const size of [1, 10, 40]) expect(await outcome(cutInto(bytes, size), { stream })).toEqual(whole);
  });

  test('FileReading gives each line once however often a growing file is read, then closed', () =>
    fc.assert(
      fc.asyncProperty(content, cuts, async (bytes, places) => {
        // Where lines that continue others were never seen, the last line is not kept back for them.
        let stream: StreamState | undefined = { ...createStreamState(), joins: true };
        const whole = await outcome([bytes], { isClosed: true, stream });
        let known: LogFile | undefined;
        const records: LogRecord[] = [];
        const grown = cutInto(bytes, places);
        for (let count = 1; count <= grown.length; count++) {
          const options = { candidates: known ? [known] : [], isClosed: count === grown.length, stream };
          const reading = await outcome(grown.slice(0, count), options);
          if ('code' in reading) {
            // A beginning may look like a page until its first time comes; nothing was read then.
            if (options.isClosed) expect(reading).toEqual(whole);
            continue;
          }
          records.push(...reading.records);
          known = reading.file ?? known;
          stream = reading.stream ?? stream;
        }
        if ('code' in whole) return;
        expect(stream?.held).toEqual(whole.stream?.held);
        expect(records).toEqual(whole.records);
        expect(known).toEqual(whole.file);
      }),
      { numRuns: countRuns(300) },
    ));
});

describe('a file without anything new', () => {
  const CONTENT = FIRST + SECOND;

  /** Reads a file again, of which `known` was read; what the reading says, and what it would give. */
  async function lookAgain(content: string, known: LogFile, stream = createStreamState()) {
    const reading = new FileReading(createOptions({ candidates: [known], acceptsNew: false, stream }));
    const { kind } = await reading.read(bodyOf([Buffer.from(content)]));
    const { isUnchanged } = reading;
    const { records, first, nulBytes, emptyBytes } = reading.takeBatch();
    return { kind, isUnchanged, given: records.length + nulBytes + emptyBytes, first, file: reading.file };
  }

  test('FileReading says that it is unchanged, and gives nothing', async () => {
    const known = await readFile(CONTENT);
    const expected = { kind: 'taken', isUnchanged: true, given: 0, first: undefined, file: known };
    expect(await lookAgain(CONTENT, known)).toEqual(expected);
  });

  test.for([
    ['a line is new', CONTENT + THIRD, {}, 'taken'],
    ['an empty line is new', `${CONTENT}\n`, {}, 'taken'],
    ['a line has begun', `${CONTENT}2026`, {}, 'taken'],
    ['it had ended within a line before', CONTENT, { tornAt: [CONTENT.length + 4] }, 'taken'],
    ['a byte is another one', CONTENT.replace('second', 'sedond'), {}, 'unrelated'],
    ['it has become shorter', FIRST, {}, 'unrelated'],
  ] as const)('FileReading does not say so when %s', async ([, content, more, kind]) => {
    const known = { ...(await readFile(CONTENT)), ...more };
    expect(await lookAgain(content, known)).toMatchObject({ kind, isUnchanged: false });
  });

  test('FileReading gives a line that waited in a log whose lines are not continued', async () => {
    const stream = createStreamState();
    const { scan: before } = await scan(FIRST, { stream: { ...stream, joins: true } });
    const { held } = before.stream ?? stream;
    const known = before.file ?? (await readFile(FIRST));
    expect(held?.message).toBe('first');
    expect(await lookAgain(FIRST, known, { ...stream, held })).toMatchObject({ isUnchanged: false, given: 1 });
    expect(await lookAgain(FIRST, known, { ...stream, held, joins: true })).toMatchObject({
      isUnchanged: true,
      given: 0,
    });
  });
});
