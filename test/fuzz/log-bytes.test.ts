import { expect, test } from 'vitest';
import { parseListing } from '../../src/logs/listing/listing.ts';
import { createFile, createStreamState, type StreamState } from '../../src/logs/position/position.ts';
import { LogError } from '../../src/logs/reading/errors.ts';
import { FileReading } from '../../src/logs/reading/file-reading.ts';
import type { RecordBatch } from '../../src/logs/records/record-batch.ts';
import { Zone } from '../../src/logs/time/zone.ts';
import type { LogRecord } from '../../src/model/index.ts';
import { bodyOf, cutInto } from '../logs/chunking.ts';
import { type Choices, countCases, describeCases, limitMs, Choices as RandomChoices } from './random-cases.ts';

const SHARE = { logs: 0.25, listings: 0.1 };
const NOW_MS = Date.UTC(2026, 10, 21, 12);
/** Processor time of one case: a few KB of text. Far more than is needed, far less than what grows faster than the text. Milliseconds. */
const CASE_MS_MAX = 1000;
const LINE_FEED = 0x0a;

const PIECES = [
  '2026-11-21 09:36:49 [wan] first',
  '2026-11-21 09:36:50 [kernel] [warning] second',
  '21.11.2026 09:36:51 [lte1] third',
  '11/21/2026 09:36:51 PM [lte1] fourth',
  '2026-11-21T09:36:49.123456+01:00 [wan] fifth',
  'Nov 21 09:36:49 host daemon[12]: sixth',
  '1970-01-01 00:00:03 [boot] clock is not set',
  '2099-01-01 00:00:03 [boot] clock is ahead',
  '    Last output repeated 17 times',
  '    - Last output repeated twice -',
  '    at stack.trace (line 3)',
  '2026-11-2',
  '[wan]',
  'GET /api/v2_0/status/lte2 from 192.0.2.1',
  '<html><body>',
  '{"error": 1}',
  '\u0000\u0000\u0000',
  '\ufeff',
  'ü\u2028é',
  '\r',
  '\n',
  '\n\n',
  ' ',
  '',
];

function createText(choices: Choices): Buffer {
  const parts = choices.list(14, () => {
    const piece = choices.once(400) ? 'y'.repeat(70_000) : choices.of(PIECES);
    const line = Buffer.from(piece + (choices.once(6) ? '' : '\n'));
    return choices.once(12) ? choices.bytes(choices.below(40)) : line;
  });
  const text = Buffer.concat(parts);
  return choices.once(2) ? choices.mutate(text) : text;
}

interface Outcome {
  readonly kind: string;
  readonly batch: RecordBatch | undefined;
  readonly records: readonly LogRecord[];
  readonly readBytes: number;
  readonly stream: StreamState | undefined;
}

async function readAll(chunks: readonly Uint8Array[], isClosed: boolean): Promise<Outcome> {
  const context = {
    router: { name: 'plant-7', labels: {} },
    component: 'network',
    zone: new Zone('Europe/Berlin'),
    observedMs: NOW_MS,
    stream: createStreamState(),
    file: 'network/current',
    flags: [],
  };
  const reading = new FileReading({
    name: 'network/current',
    begin: ({ key, known }) => ({ file: known ?? createFile(key, 0), context }),
    candidates: [],
    acceptsNew: true,
    isClosed,
    endMs: NOW_MS,
    onBatch: () => {},
    batchBytes: Number.POSITIVE_INFINITY,
  });
  try {
    const { kind } = await reading.read(bodyOf(chunks));
    const batch = reading.takeBatch();
    const records = [...batch.records].map((json) => JSON.parse(json) as LogRecord);
    return { kind, batch, records, readBytes: reading.file?.off ?? 0, stream: reading.stream };
  } catch (cause) {
    if (!(cause instanceof LogError)) throw cause;
    return { kind: cause.code, batch: undefined, records: [], readBytes: 0, stream: undefined };
  }
}

test(`any bytes of a log become lines and events that account for each of them: ${describeCases(SHARE.logs)}`, {
  timeout: limitMs(SHARE.logs, 20),
}, async () => {
  const counts = new Map<string, number>();
  for (let number = 0; number < countCases(SHARE.logs); number++) {
    const choices = new RandomChoices('logs', number);
    const text = createText(choices);
    const isClosed = choices.once(2);
    const before = process.cpuUsage();
    const outcome = await readAll([text], isClosed);
    const { user, system } = process.cpuUsage(before);
    const about = `case ${number}: ${JSON.stringify(text.toString('latin1').slice(0, 2000))}`;
    expect((user + system) / 1000, about).toBeLessThan(CASE_MS_MAX);
    counts.set(outcome.kind, (counts.get(outcome.kind) ?? 0) + 1);
    const { batch } = outcome;
    if (outcome.kind === 'taken' && batch) {
      const hasEnd = text.at(-1) === LINE_FEED;
      const wholeBytes = isClosed ? text.length : text.lastIndexOf(LINE_FEED) + 1;
      expect(outcome.readBytes, about).toBe(wholeBytes);
      // A last line without its end counts as if it had one, and so does each but the last of several in one line.
      const starts = [...outcome.records.map(({ offset }) => offset), outcome.stream?.held?.start ?? 0];
      const seams = new Set(starts.filter((at) => at > 0 && text[at - 1] !== LINE_FEED));
      const endlessLines = seams.size + (isClosed && !hasEnd ? 1 : 0);
      // Bytes that are no text are a gap, up to the end of their line or of the file.
      const binaryBytes = batch.gaps.reduce((sum, { bytesMin = 0 }) => sum + bytesMin, 0);
      const accounted = batch.bytes + batch.emptyBytes + batch.skippedBytes + binaryBytes;
      if (binaryBytes === 0) expect(accounted, about).toBe(wholeBytes + endlessLines);
      else expect(Math.abs(accounted - wholeBytes), about).toBeLessThanOrEqual(endlessLines + batch.gaps.length);
      expectOrder(outcome.records, text.length, about);
    }
    if (!choices.once(4)) continue;
    // However the bytes arrive, they become the same.
    const cuts = choices.list(5, () => choices.random());
    expect(await readAll(cutInto(text, cuts), isClosed), about).toEqual(outcome);
  }
  expect(counts.get('taken')).toBeGreaterThan(countCases(SHARE.logs) / 2);
});

/** Each record stands at its own place of the text, one behind the other, and has an id of its own. */
function expectOrder(records: readonly LogRecord[], length: number, about: string): void {
  let last = -1;
  for (const { event, offset, message } of records) {
    expect(message, about).toBe(message.toWellFormed());
    if (event !== undefined) continue;
    expect(offset, about).toBeGreaterThan(last);
    expect(offset, about).toBeLessThan(length);
    last = offset;
  }
  expect(new Set(records.map(({ uid }) => uid)).size, about).toBe(records.length);
}

const NAME_PARTS = [
  'network',
  'kernel',
  '/',
  'current',
  'log-2026-11-21-09:36:49',
  '.bz2',
  '.gz',
  '.Z',
  '..',
  '__proto__',
  '%2f',
  '\u0000',
  'ü',
  '',
  '-',
  'log-9999-99-99-99:99:99',
];

test(`any listing becomes a bounded number of logs, in order, of names that it holds: ${describeCases(SHARE.listings)}`, {
  timeout: limitMs(SHARE.listings, 5),
}, () => {
  let logs = 0;
  for (let number = 0; number < countCases(SHARE.listings); number++) {
    const choices = new RandomChoices('listings', number);
    const name = () =>
      choices.once(3)
        ? `${choices.of(['network', 'kernel', '_x', `c${choices.below(500)}`])}/${choices.once(2) ? 'current' : `log-2026-11-2${choices.below(10)}-09:36:4${choices.below(10)}${choices.of(['', '.bz2', '.gz', '.xz'])}`}`
        : choices.list(5, () => choices.of(NAME_PARTS)).join('');
    const names = choices.list(choices.once(50) ? 2000 : 30, name);
    const listing = parseListing(names);
    const given = new Set(names);
    expect(listing.logs.size).toBeLessThanOrEqual(256);
    let known = 0;
    for (const [component, { current, rotated }] of listing.logs) {
      logs++;
      const listed = [...(current === undefined ? [] : [current]), ...rotated.map((file) => file.name)];
      for (const file of listed) expect(given, `case ${number}`).toContain(file);
      for (const file of listed) expect(file.startsWith(`${component}/`)).toBe(true);
      const stamps = rotated.map(({ stamp }) => stamp);
      expect(stamps).toEqual([...new Set(stamps)].toSorted());
      known += listed.length;
    }
    expect(listing.unknown + known).toBeLessThanOrEqual(names.length);
    // The order of the names does not matter, as long as there are not too many logs.
    if (listing.logs.size < 256) {
      const sorted = ({ logs: map }: typeof listing) => [...map].toSorted(([a], [b]) => (a < b ? -1 : 1));
      expect(sorted(parseListing(names.toReversed()))).toEqual(sorted(listing));
    }
  }
  expect(logs).toBeGreaterThan(0);
});
