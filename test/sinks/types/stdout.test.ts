import { Writable } from 'node:stream';
import { expect, test, vi } from 'vitest';
import { DeliveryError, OutgoingRecord } from '../../../src/sinks/index.ts';
import { createTestSink, type SinkChange } from '../../support/sinks/create-sink.ts';
import { sampleRecord } from '../../support/sinks/sample-records.ts';

const never = new AbortController().signal;

const createSink = (output: Writable, options: SinkChange<'stdout'> = {}) =>
  createTestSink('stdout', { name: 'console' }, { stdout: output, ...options });

function collect() {
  const written: string[] = [];
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      written.push(chunk.toString());
      done();
    },
  });
  return { written, output };
}

test('StdoutSink writes one record per line, whole batches at a time', async () => {
  const { written, output } = collect();
  const sink = createSink(output);
  expect(await sink.deliver([new OutgoingRecord('{"a":1}'), new OutgoingRecord('{"b":"ü"}')], never)).toEqual({
    bytes: 19,
  });
  await sink.deliver([new OutgoingRecord('{"c":3}')], never);
  expect(sink).toMatchObject({ name: 'console', batch: { recordsMax: 5000, bytesMax: 1024 * 1024, waitMs: 0 } });
  expect(sink.timeoutMs).toBeUndefined();
  expect(written).toEqual(['{"a":1}\n{"b":"ü"}\n', '{"c":3}\n']);
});

test('StdoutSink gives a terminal no control characters of a line, and the same records', async () => {
  const { written, output } = collect();
  const text = JSON.stringify({ message: 'x\u001b]0;owned\u0007\u009b2J\u007fü' });
  await createSink(Object.assign(output, { isTTY: true })).deliver([new OutgoingRecord(text)], never);
  const [line = ''] = written;
  expect(line).not.toMatch(/[^\P{Cc}\n]/u);
  expect(JSON.parse(line)).toEqual(JSON.parse(text));
  const piped = collect();
  await createSink(piped.output).deliver([new OutgoingRecord(text)], never);
  expect(piped.written).toEqual([`${text}\n`]);
});

test('StdoutSink writes the format that is asked for, and nothing at all for an empty batch', async () => {
  const { written, output } = collect();
  await createSink(output, { format: 'ecs' }).deliver([sampleRecord('a')], never);
  await createSink(output, { format: 'otel' }).deliver([sampleRecord('a')], never);
  expect(await createSink(output).deliver([], never)).toEqual({});
  const [ecs = '', otel = '', ...more] = written;
  expect(JSON.parse(ecs)).toMatchObject({ event: { id: 'a' } });
  expect(JSON.parse(otel)).toHaveProperty('resourceLogs');
  expect(more).toEqual([]);
});

test('StdoutSink.deliver() resolves when the system has taken the bytes, and not before', async () => {
  const taken = Promise.withResolvers<() => void>();
  const output = new Writable({ write: (_chunk, _encoding, done) => taken.resolve(done) });
  const delivered = vi.fn();
  const delivering = createSink(output)
    .deliver([sampleRecord('a')], never)
    .then(delivered);
  const done = await taken.promise;
  await new Promise((resolve) => setImmediate(resolve));
  expect(delivered).not.toHaveBeenCalled();
  done();
  await delivering;
  expect(delivered).toHaveBeenCalledTimes(1);
});

test('StdoutSink.deliver() throws closed when the reader has gone, then and ever after, and ends no process', async () => {
  const cause = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
  const output = new Writable({ write: (_chunk, _encoding, done) => done(cause) });
  const sink = createSink(output);
  const error: unknown = await sink.deliver([sampleRecord('a')], never).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(DeliveryError);
  expect(error).toMatchObject({
    code: 'closed',
    disposition: 'operator',
    hint: 'The program that read the output has ended',
    cause,
  });
  // The stream also raises an event, which this test does not handle.
  await new Promise((resolve) => setImmediate(resolve));
  await expect(sink.deliver([sampleRecord('b')], never)).rejects.toMatchObject({ code: 'closed' });
});

test('StdoutSink.deliver() rejects with the reason when aborted while the output is not read, and writes nothing when aborted before', async () => {
  const write = vi.fn();
  const output = new Writable({ write });
  const abort = new AbortController();
  const reason = new RangeError('time is over');
  const sink = createSink(output);
  const delivering = sink.deliver([sampleRecord('a')], abort.signal);
  abort.abort(reason);
  await expect(delivering).rejects.toBe(reason);
  await expect(sink.deliver([sampleRecord('b')], abort.signal)).rejects.toBe(reason);
  expect(write).toHaveBeenCalledTimes(1);
});

test('StdoutSink.preflight() writes nothing, and close() leaves the output open', async () => {
  const { written, output } = collect();
  const sink = createSink(output);
  expect(await sink.preflight({ routers: 1, labelValues: {} }, never)).toMatchObject([{ verdict: 'ok' }]);
  await sink.close();
  expect(written).toEqual([]);
  expect(output.writableEnded).toBe(false);
});
