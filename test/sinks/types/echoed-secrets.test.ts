import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { expect, test } from 'vitest';
import { createSteppedClock, Secret } from '../../../src/base/index.ts';
import type { Sink } from '../../../src/sinks/index.ts';
import { createTestSink } from '../../support/sinks/create-sink.ts';
import { type ArrivedRequest, openMisbehavingServer, type Reply } from '../../support/sinks/misbehaving-server.ts';
import { sampleRecords } from '../../support/sinks/sample-records.ts';

const never = new AbortController().signal;
const KEY = 'hunter2-key';
const TOKEN = 'hunter2-token';

function openSinks(url: string) {
  const change = {
    clock: createSteppedClock(Date.UTC(2025, 9, 26, 1, 0, 31)),
    headers: { 'x-key': new Secret(KEY) },
    bearer_token: new Secret(TOKEN),
  };
  return {
    otlp: createTestSink('otlp', { url }, change),
    loki: createTestSink('loki', { url, max_age: 0 }, change),
    elasticsearch: createTestSink('elasticsearch', { url }, change),
  };
}

/** What a server that shows its request says of it. */
const echo = ({ headers }: ArrivedRequest) => `you sent ${String(headers['x-key'])} and ${headers['authorization']}`;
const ECHO = 'you sent [secret] and Bearer [secret]';

const JSON_HEADERS = { 'content-type': 'application/json' };
const page = (status: number, type: string) => (request: ArrivedRequest) => ({
  status,
  headers: { 'content-type': type },
  body: echo(request),
});
const partial = (rejectedLogRecords: number) => (request: ArrivedRequest) => ({
  status: 200,
  headers: JSON_HEADERS,
  body: JSON.stringify({ partialSuccess: { rejectedLogRecords, errorMessage: echo(request) } }),
});
const partialBytes = (request: ArrivedRequest) => {
  const inner = new BinaryWriter().tag(1, 0).int64(1).tag(2, 2).string(echo(request)).finish();
  const bytes = new BinaryWriter().tag(1, 2).bytes(inner).finish();
  const body = Buffer.from(bytes).toString('latin1');
  return { status: 200, headers: { 'content-type': 'application/x-protobuf' }, body };
};
const items = (toErrors: (text: string) => readonly object[]) => (request: ArrivedRequest) => ({
  status: 200,
  headers: JSON_HEADERS,
  body: JSON.stringify({ errors: true, items: toErrors(echo(request)).map((create) => ({ create })) }),
});
const taken = { status: 201 };

test.for<readonly [string, keyof ReturnType<typeof openSinks>, (request: ArrivedRequest) => Reply]>([
  ['a web page', 'otlp', page(200, 'text/html')],
  ['a warning', 'otlp', partial(0)],
  ['the reason for some records', 'otlp', partial(1)],
  ['the reason for all records', 'otlp', partial(2)],
  ['the reason in protobuf', 'otlp', partialBytes],
  ['status 200', 'loki', page(200, 'text/html')],
  ['blocked ingestion', 'loki', page(260, 'text/plain')],
  ['a status that is not 200', 'elasticsearch', page(201, 'text/html')],
  [
    'the reason for a record',
    'elasticsearch',
    items((reason) => [{ status: 400, error: { type: 'x', reason } }, taken]),
  ],
  ['an error that is a text', 'elasticsearch', items((error) => [{ status: 400, error }, taken])],
  [
    'the cause of a reason',
    'elasticsearch',
    items((reason) => [{ status: 400, error: { type: 'x', reason: 'y', caused_by: { reason } } }, taken]),
  ],
  ['back-pressure', 'elasticsearch', items((reason) => [{ status: 429, error: { type: 'x', reason } }, taken])],
  [
    'no permission',
    'elasticsearch',
    items((reason) => [1, 2].map(() => ({ status: 403, error: { type: 'x', reason } }))),
  ],
])('no report and no error shows a secret that the receiver repeats with success: %s, %s', async ([, kind, answer]) => {
  await using server = await openMisbehavingServer(answer);
  const sink: Sink = openSinks(server.url)[kind];
  const outcome = await sink.deliver(sampleRecords('a', 2), never).then(
    (report) => JSON.stringify(report),
    (cause: unknown) => String(cause),
  );
  await sink.close();
  expect(outcome).toContain(ECHO);
  expect(outcome).not.toContain('hunter2');
});

test('no finding of a preflight shows a secret that the receiver repeats with success', async () => {
  await using server = await openMisbehavingServer((request) => {
    const version = { number: echo(request), version: echo(request), revision: 'x' };
    if (request.path.includes('buildinfo')) return { status: 200, body: JSON.stringify(version) };
    if (request.path.includes('_data_stream')) {
      return { status: 200, body: JSON.stringify({ data_streams: [{ template: echo(request) }] }) };
    }
    return request.method === 'GET'
      ? { status: 200, body: JSON.stringify({ version }) }
      : { status: 200, headers: JSON_HEADERS, body: '{}' };
  });
  const { otlp, elasticsearch } = openSinks(server.url);
  for (const sink of [otlp, elasticsearch]) {
    const findings = JSON.stringify(await sink.preflight({ routers: 1, labelValues: {} }, never));
    await sink.close();
    expect(findings).toContain(ECHO);
    expect(findings).not.toContain('hunter2');
  }
});
