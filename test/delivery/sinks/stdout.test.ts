import { Writable } from 'node:stream';
import { expect, test, vi } from 'vitest';
import { createStdoutSink, DeliveryError } from '../../../src/delivery/index.ts';

const never = new AbortController().signal;

test('StdoutSink writes one record per line, whole batches at a time', async () => {
  const written: string[] = [];
  const output = new Writable({
    decodeStrings: false,
    write(chunk: string, _encoding, done) {
      written.push(chunk);
      done();
    },
  });
  const sink = createStdoutSink('console', output);
  await sink.deliver(['{"a":1}', '{"b":"ü"}'], never);
  await sink.deliver(['{"c":3}'], never);
  expect(sink.name).toBe('console');
  expect(written).toEqual(['{"a":1}\n{"b":"ü"}\n', '{"c":3}\n']);
});

test('StdoutSink.deliver() resolves when the system has taken the bytes, and not before', async () => {
  const taken = Promise.withResolvers<() => void>();
  const output = new Writable({ write: (_chunk, _encoding, done) => taken.resolve(done) });
  const delivered = vi.fn();
  const delivering = createStdoutSink('console', output).deliver(['1'], never).then(delivered);
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
  const sink = createStdoutSink('console', output);
  const error: unknown = await sink.deliver(['1'], never).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(DeliveryError);
  expect(error).toMatchObject({ code: 'closed', disposition: 'operator', cause });
  // The stream also raises an event, which nobody in this test listens to.
  await new Promise((resolve) => setImmediate(resolve));
  await expect(sink.deliver(['2'], never)).rejects.toMatchObject({ code: 'closed' });
});

test('StdoutSink.deliver() rejects with the reason when aborted while nobody reads', async () => {
  const output = new Writable({ write: () => {} });
  const abort = new AbortController();
  const reason = new RangeError('time is over');
  const delivering = createStdoutSink('console', output).deliver(['1'], abort.signal);
  abort.abort(reason);
  await expect(delivering).rejects.toBe(reason);
});
