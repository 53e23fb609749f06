import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { SinkSummary } from '../../src/web/index.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import {
  openRawRelay,
  type RawRelay,
  type RelayedAnswer,
  type RenderAnswer,
  renderAnswer,
} from '../support/raw-relay.ts';
import { createHttpSettings } from '../support/sink-settings.ts';
import { openMisbehavingServer } from '../support/sinks/misbehaving-server.ts';

const MINUTE_MS = 60_000;
const LOGS = { enabled: true, interval: MINUTE_MS, start: 'all', components: ['network'] } as const;
const LINES = Array.from({ length: 300 }, (_, index) => `line ${index}`);

const withLength = (answer: RelayedAnswer, ...lines: readonly string[]) =>
  renderAnswer(answer, `Content-Length: ${answer.body.length}`, ...lines);

const encoded =
  (coding: string, encode: (body: Buffer) => Buffer): RenderAnswer =>
  (answer) =>
    withLength({ ...answer, body: encode(answer.body) }, `Content-Encoding: ${coding}`);

/** Changes answers of JSON alone: what is added to the text of a log is a part of it. */
const asJson =
  (change: (body: Buffer) => Buffer): RenderAnswer =>
  (answer) =>
    withLength(answer.contentType.includes('json') ? { ...answer, body: change(answer.body) } : answer);

const after = (interim: string) => (answer: RelayedAnswer) =>
  Buffer.concat([Buffer.from(interim, 'latin1'), withLength(answer)]);

const LEGAL: readonly (readonly [string, RenderAnswer])[] = [
  ['blanks behind Content-Length', (answer) => renderAnswer(answer, `Content-Length: ${answer.body.length}   `)],
  ['an unrequested 100 Continue', after('HTTP/1.1 100 Continue\r\n\r\n')],
  ['interim answers', after('HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n')],
  ['a header in two lines', (answer) => withLength(answer, 'X-Device: a', ' b')],
  ['Content-Encoding gzip', encoded('gzip', gzipSync)],
  ['Content-Encoding deflate', encoded('Deflate', deflateSync)],
  ['Content-Encoding deflate without the header of zlib', encoded('deflate', deflateRawSync)],
  ['Content-Encoding br', encoded('br', brotliCompressSync)],
  ['Content-Encoding zstd', encoded('zstd', zstdCompressSync)],
  ['a byte order mark before JSON', asJson((body) => Buffer.concat([Buffer.from('\uFEFF'), body]))],
  ['zero bytes behind JSON', asJson((body) => Buffer.concat([body, Buffer.alloc(2)]))],
];

/** A fleet of one router whose answers go through a relay. */
async function startRelayedFleet(render: RenderAnswer): Promise<{ fleet: Fleet; relay: RawRelay }> {
  const fleet = await startFleet({ isStopped: true, router: { logs: LOGS } });
  const relay = await openRawRelay(fleet.router().url, render);
  fleet.propose((config) => ({ ...config, routers: config.routers.map((one) => ({ ...one, url: relay.url })) }));
  await fleet.startAgent();
  return { fleet, relay };
}

test.for(LEGAL)('a router that answers with %s is up, and its log is read', async ([, render]) => {
  const { fleet: started, relay: opened } = await startRelayedFleet(render);
  await using relay = opened;
  await using fleet = started;
  for (const line of LINES) fleet.router().appendLog('network', line);
  await fleet.advance(1.5 * MINUTE_MS);
  expect(await fleet.metrics()).toMatch(/^router_up\{[^}]*\} 1$/m);
  expect(fleet.records.map(({ message }) => message)).toEqual(expect.arrayContaining(LINES));
  // Also what is appended later, from where reading stopped.
  fleet.router().appendLog('network', 'the last one');
  await fleet.advance(1.5 * MINUTE_MS);
  expect(fleet.records.filter(({ message }) => message === 'the last one')).toHaveLength(1);
  expect(fleet.records.filter(({ message }) => message === 'line 0')).toHaveLength(1);
  expect(relay.resets).toBe(0);
});

test.for([
  [
    'a coding that is not known',
    encoded('snappy', (body) => body),
    'Content-Encoding "snappy", which is not supported',
  ],
  ['a coding that it does not have', encoded('gzip', (body) => body), 'Content-Encoding "gzip", but its body'],
  ['another type', asJson(() => Buffer.from('<html>')), 'with Content-Type "application/json'],
  ['two lengths', (answer: RelayedAnswer) => withLength(answer, 'Content-Length: 1'), 'Duplicate Content-Length'],
  ['a length of words', (answer: RelayedAnswer) => renderAnswer(answer, 'Content-Length: many'), 'Content-Length'],
] as const)('a router that answers with %s is down, and the header is named', async ([, render, named]) => {
  const { fleet: started, relay: opened } = await startRelayedFleet(render);
  await using relay = opened;
  await using fleet = started;
  await fleet.advance(2 * MINUTE_MS);
  expect(await fleet.metrics()).toMatch(/^router_up\{[^}]*\} 0$/m);
  expect(await fleet.metrics('/api/v1/routers/sim-1')).toContain(JSON.stringify(named).slice(1, -1));
  expect(relay.resets).toBe(0);
});

/** A fleet whose sink goes through a relay, and what its receiver has got. */
async function startSinkFleet(render: RenderAnswer) {
  const messages: string[] = [];
  const server = await openMisbehavingServer(({ body }) => {
    for (const line of body.toString().split('\n').filter(Boolean)) messages.push(JSON.parse(line).message);
    return { status: 200, body: 'taken' };
  });
  const relay = await openRawRelay(server.url, render);
  const sink = createHttpSettings('collector', relay.url, {
    batch: { recordsMax: 1000, bytesMax: 1024 ** 2, waitMs: 0 },
    compress: 'none',
  });
  const fleet = await startFleet({ config: (config) => ({ ...config, sinks: [sink] }), router: { logs: LOGS } });
  for (const line of LINES) fleet.router().appendLog('network', line);
  const describeSink = async () => {
    const { sinks } = JSON.parse(await fleet.metrics('/api/v1/sinks')) as { readonly sinks: readonly SinkSummary[] };
    return sinks[0];
  };
  const close = async () => {
    await fleet[Symbol.asyncDispose]();
    await relay[Symbol.asyncDispose]();
    await server.close();
  };
  return { fleet, relay, server, messages, describeSink, [Symbol.asyncDispose]: close };
}

test.for(LEGAL)('a sink whose receiver answers with %s gets each record once', async ([, render]) => {
  await using bench = await startSinkFleet(render);
  await bench.fleet.advance(3 * MINUTE_MS);
  expect(bench.messages.filter((message) => message.startsWith('line'))).toEqual(LINES);
  expect(await bench.describeSink()).toMatchObject({ state: 'up', error: null, reason: null });
});

test('a sink whose answers cannot be read says so after three times, and that the receiver may have the records', async () => {
  await using bench = await startSinkFleet((answer) => withLength(answer, 'Content-Length: 1'));
  await bench.fleet.advance(30 * MINUTE_MS);
  const sent = bench.server.requests.length;
  // As after other failures, up to five minutes lie between two attempts.
  expect(sent).toBeLessThan(40);
  expect(await bench.describeSink()).toMatchObject({
    state: 'down',
    reason: 'protocol_error',
    error: expect.stringMatching(
      /the receiver, which may have these \d+ records several times.*Duplicate Content-Length/,
    ),
  });
  const metrics = await bench.fleet.metrics('/metrics/agent');
  expect(metrics).toMatch(/^router_exporter_sink_up\{sink="collector"\} 0$/m);
  expect(metrics).toMatch(/^router_exporter_sink_failures_total\{sink="collector",reason="protocol_error"\} \d+$/m);
  expect(await bench.fleet.metrics('/sinks')).toContain('(protocol_error)');
  const lines = bench.fleet.ownLog.filter(({ message }) => message === 'A sink failed');
  const saying = lines.map(({ fields }) => String(Reflect.get(fields, 'error')).includes('may have these'));
  expect([saying[0], saying.at(-1)]).toEqual([false, true]);
  expect(Reflect.get(lines[0]?.fields ?? {}, 'reason')).toBe('protocol_error');

  bench.relay.render = (answer) => withLength(answer);
  await bench.fleet.advance(10 * MINUTE_MS);
  expect(await bench.describeSink()).toMatchObject({ state: 'up', reason: null, recordsWaiting: 0 });
});

test('a receiver that resets long requests instead of refusing them gets the records in smaller ones', async () => {
  await using bench = await startSinkFleet((answer) => withLength(answer));
  bench.relay.bodyBytesMax = 20_000;
  await bench.fleet.advance(10 * MINUTE_MS);
  expect(bench.messages.filter((message) => message.startsWith('line'))).toEqual(LINES);
  expect(bench.relay.resets).toBeGreaterThan(2);
  expect(await bench.describeSink()).toMatchObject({ state: 'up', recordsWaiting: 0 });
});

test('a record with which the receiver always resets the connection becomes a dead letter, and the others arrive', async () => {
  await using bench = await startSinkFleet((answer) => withLength(answer));
  bench.relay.bodyBytesMax = 8_000;
  bench.fleet.router().appendLog('network', 'x'.repeat(12_000));
  bench.fleet.router().appendLog('network', 'behind');
  await bench.fleet.advance(10 * MINUTE_MS);
  expect(bench.messages.filter((message) => !message.startsWith('x'))).toEqual(
    expect.arrayContaining([...LINES, 'behind']),
  );
  expect(await bench.describeSink()).toMatchObject({ state: 'up', recordsWaiting: 0, deadLetters: 1 });
  expect(await bench.fleet.metrics('/metrics/agent')).toMatch(
    /^router_exporter_sink_records_total\{sink="collector",result="dead_letter"\} 1$/m,
  );
  expect(bench.fleet.ownLog).toContainEqual(
    expect.objectContaining({
      message: 'A sink rejected records permanently; they are stored as dead letters',
      fields: expect.objectContaining({
        error: expect.stringMatching(/^The connection ended 5 times before an answer/),
      }),
    }),
  );
});

test('one record alone with which the receiver resets the connection fifteen times becomes a dead letter, and blocks nothing', async () => {
  await using bench = await startSinkFleet((answer) => withLength(answer));
  await bench.fleet.advance(3 * MINUTE_MS);
  bench.relay.bodyBytesMax = 8_000;
  bench.fleet.router().appendLog('network', 'x'.repeat(12_000));
  await bench.fleet.advance(5 * MINUTE_MS);
  expect(await bench.describeSink()).toMatchObject({ state: 'down', recordsWaiting: 1, deadLetters: 0 });
  await bench.fleet.advance(45 * MINUTE_MS);
  expect(bench.relay.resets).toBe(15);
  expect(await bench.describeSink()).toMatchObject({ recordsWaiting: 0, deadLetters: 1 });
  bench.fleet.router().appendLog('network', 'later');
  await bench.fleet.advance(2 * MINUTE_MS);
  expect(bench.messages.at(-1)).toBe('later');
  expect(await bench.describeSink()).toMatchObject({ state: 'up', recordsWaiting: 0, deadLetters: 1 });
});
