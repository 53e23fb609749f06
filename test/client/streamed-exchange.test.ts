import { once } from 'node:events';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent, type Dispatcher } from 'undici';
import { expect, test } from 'vitest';
import { StreamedExchange } from '../../src/client/requests/exchange.ts';

const BYTES_MAX = 10;

/** A server of this machine, and an agent for it. */
async function openServer(answer: RequestListener) {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const agent = new Agent({ connections: 1 });
  let connections = 0;
  server.on('connection', () => connections++);
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stream = (signal = new AbortController().signal) =>
    new StreamedExchange(agent, { origin, path: '/', method: 'GET' }, signal);
  return {
    stream,
    /** Status, headers and body of an answer that is read whole. */
    async ask(signal?: AbortSignal, onPiece?: () => Error | undefined) {
      const asked = stream(signal);
      return { ...(await asked.head), bytes: await asked.readWhole(BYTES_MAX, onPiece) };
    },
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      await agent.destroy();
      server.close().closeAllConnections();
    },
  };
}

test('StreamedExchange.readWhole() gives status, headers and body, and keeps the connection', async () => {
  await using server = await openServer((_request, response) => {
    response.writeHead(418, { 'x-own': 'yes' }).write('one');
    response.end(' two');
  });
  for (let turn = 0; turn < 2; turn++) {
    const { statusCode, headers, bytes } = await server.ask();
    expect({ statusCode, own: headers['x-own'], text: bytes?.toString() }).toEqual({
      statusCode: 418,
      own: 'yes',
      text: 'one two',
    });
  }
  expect(server.connections()).toBe(1);
});

test('StreamedExchange.readWhole() gives the answer behind an interim one', async () => {
  await using server = await openServer((_request, response) => {
    response.writeEarlyHints({ link: '</style.css>; rel=preload' });
    response.end('final');
  });
  expect(await server.ask()).toMatchObject({ statusCode: 200, bytes: Buffer.from('final') });
});

test('StreamedExchange.readWhole() gives nothing of a body that is too long, and its connection ends', async () => {
  const closed = Promise.withResolvers<void>();
  await using server = await openServer((request, response) => {
    request.socket.once('close', () => closed.resolve());
    response.write('0123456789abc');
  });
  expect((await server.ask()).bytes).toBeUndefined();
  await closed.promise;
});

test('StreamedExchange.readWhole() ends with the reason of its signal, before, while and after the connection opens', async () => {
  const asked = Promise.withResolvers<void>();
  await using server = await openServer((_request, response) => {
    response.write('0');
    asked.resolve();
  });
  const reason = new RangeError('enough');
  await expect(server.ask(AbortSignal.abort(reason))).rejects.toBe(reason);
  const opening = new AbortController();
  const early = server.ask(opening.signal);
  opening.abort(reason);
  await expect(early).rejects.toBe(reason);
  const reading = new AbortController();
  const late = server.ask(reading.signal);
  await asked.promise;
  reading.abort(reason);
  await expect(late).rejects.toBe(reason);
});

test.for([
  ['a later piece comes', (response: ServerResponse) => response.write('1'), false],
  ['it was the last one', (response: ServerResponse) => response.end(), true],
] as const)(
  'StreamedExchange.readWhole() ends behind the piece for which an error is given: %s',
  async ([, goOn, isWhole]) => {
    const counted = Promise.withResolvers<void>();
    await using server = await openServer((_request, response) => {
      response.write('0');
      void counted.promise.then(() => goOn(response));
    });
    const spent = new RangeError('spent');
    const answer = server.ask(undefined, () => {
      counted.resolve();
      return spent;
    });
    if (isWhole) expect((await answer).bytes?.toString()).toBe('0');
    else await expect(answer).rejects.toBe(spent);
  },
);

async function readAll(answer: StreamedExchange): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (let piece = await answer.read(); piece; piece = await answer.read()) pieces.push(piece);
  return Buffer.concat(pieces);
}

test('StreamedExchange hands on all of a long answer, however late it is read', async () => {
  const body = Buffer.from(Array.from({ length: 200_000 }, (_, index) => `${index}\n`).join(''));
  await using server = await openServer((_request, response) => {
    response.writeEarlyHints({ link: '</style.css>; rel=preload' });
    response.end(body);
  });
  for (let turn = 0; turn < 2; turn++) {
    const answer = server.stream();
    expect((await answer.head).statusCode).toBe(200);
    expect((await readAll(answer)).equals(body)).toBe(true);
    await answer.drop(0);
  }
  expect(server.connections()).toBe(1);
});

test.for([
  ['keeps the connection when it is short', 100, 1],
  ['ends the connection when it is long', 100_000, 2],
] as const)('StreamedExchange drops what is not read, and %s', async ([, bytes, connections]) => {
  await using server = await openServer((_request, response) => void response.end(Buffer.alloc(bytes)));
  for (let turn = 0; turn < 2; turn++) {
    const answer = server.stream();
    await answer.head;
    await answer.drop(8192);
  }
  expect(server.connections()).toBe(connections);
});

test('StreamedExchange ends with its signal or a cause, also for a reader that waits', async () => {
  await using server = await openServer((_request, response) => void response.write('0'));
  const reason = new RangeError('enough');
  await expect(server.stream(AbortSignal.abort(reason)).head).rejects.toBe(reason);
  const controller = new AbortController();
  const [aborted, failed] = [server.stream(controller.signal), server.stream()];
  await aborted.read();
  const waiting = aborted.read();
  controller.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  await failed.read();
  const last = failed.read();
  failed.fail(reason);
  await expect(last).rejects.toBe(reason);
  await expect(failed.read()).rejects.toBe(reason);
});

test.each([
  ['has no length is broken off', {}, 'broken'],
  ['has a length is whole if all of it has come', { 'content-length': '3' }, 'all'],
])('an answer of StreamedExchange that is followed by a reset and %s', async (_how, headers, result) => {
  // What undici calls, in its order, when the reset comes while the reader has yet to take what came.
  const dispatcher = { dispatch: () => true } as unknown as Agent;
  const request = { origin: 'http://127.0.0.1', path: '/', method: 'GET' } as const;
  const exchange = new StreamedExchange(dispatcher, request, new AbortController().signal);
  const controller = { pause() {}, resume() {} } as unknown as Dispatcher.DispatchController;
  exchange.onResponseStart(controller, 200, headers);
  exchange.onResponseData(controller, Buffer.from('all'));
  exchange.breakOff(new Error('broken'));
  exchange.onResponseEnd();
  const told = exchange.readWhole(BYTES_MAX).then(String, (cause: unknown) => (cause as Error).message);
  expect(await told).toBe(result);
});
