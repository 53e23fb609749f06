import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { answerJson, type Handler, openRouter, REQUEST_TIMEOUT_MS } from './http-router.ts';
import { authority, certificate } from './wire-bench.ts';

const NEVER = new AbortController().signal;
const TRIAL_MS = 5000;
/** Turns of the event loop, in which a request that is sent would arrive. */
const LOOKS = 2000;

interface Options {
  /** Answers what is asked during a download. */
  readonly beside?: Handler;
}

/** A router over HTTPS without parts of files, whose downloads end when they are told to, and a client of it. */
async function openBench({ beside = (_, response) => answerJson(response, {}) }: Options = {}) {
  const downloads: ServerResponse[] = [];
  const learnt: boolean[] = [];
  const bench = await openRouter(
    (request, response, arrived) => {
      if (request.url?.includes('/download/')) {
        response.write('first ');
        downloads.push(response);
      } else if (downloads.at(-1)?.writableEnded === false) beside(request, response, arrived);
      else answerJson(response, {});
    },
    { certificate, tls: { caPem: authority.caPem }, onSecondConnection: (answers) => void learnt.push(answers) },
  );
  /** Begins a download, and resolves with its text when its first bytes have come. */
  const download = async () => {
    const begun = Promise.withResolvers<void>();
    const text = bench.client.readLog('network/current', NEVER, async (body) => {
      let read = '';
      for await (const chunk of body) {
        read += Buffer.from(chunk).toString('utf8');
        begun.resolve();
      }
      return read;
    });
    text.catch(() => {});
    await begun.promise;
    return { text, end: () => void downloads.at(-1)?.end('second') };
  };
  const takeTurn = () => {
    const calls: AbortSignal[] = [];
    const turn = bench.client.inTurn(NEVER, async (signal) => {
      calls.push(signal);
      await bench.client.readProfiles(signal);
      await bench.client.readProfiles(signal);
    });
    turn.catch(() => {});
    return { turn, calls };
  };
  const pass = async (ms: number) => {
    // A download without bytes would end.
    if (downloads.at(-1)?.writableEnded === false) downloads.at(-1)?.write('more ');
    for (let look = 0; look < LOOKS; look++) await setImmediate();
    await bench.clock.advance(ms);
    for (let look = 0; look < LOOKS; look++) await setImmediate();
  };
  const asked = () => bench.arrived.map(({ line, connection }) => `${connection} ${line.split('?')[0]}`);
  return { ...bench, learnt, download, takeTurn, pass, asked, [Symbol.asyncDispose]: bench[Symbol.asyncDispose] };
}

test('RouterClient.inTurn() goes on a second connection during a download, after five seconds the first time and at once from then on', async () => {
  await using bench = await openBench();
  const { text, end } = await bench.download();
  const first = bench.takeTurn();
  await bench.pass(TRIAL_MS - 1);
  expect(first.calls).toHaveLength(0);
  await bench.pass(1);
  await first.turn;
  const second = bench.takeTurn();
  await bench.pass(0);
  await second.turn;
  end();
  expect(await text).toMatch(/^first (?:more )*second$/);
  expect(bench.learnt).toEqual([true]);
  expect(bench.asked()).toEqual([
    '1 POST /auth/login',
    '1 GET /download/log',
    ...Array.from({ length: 4 }, () => '2 GET /profiles'),
  ]);
  // Its bytes and connections count as those of the other, and it resumes the session of TLS.
  expect(bench.client.connections).toEqual({ opened: 2, resumed: 1 });
  await bench.takeTurn().turn;
  expect(bench.asked().slice(-2)).toEqual(['1 GET /profiles', '1 GET /profiles']);
});

test.each<[string, Handler]>([
  ['is busy', (_, response) => answerJson(response, {}, 503)],
  ['closes it', (request) => request.socket.destroy()],
  ['does not answer on it', () => {}],
])(
  'RouterClient.inTurn() begins anew at the end of the download when the router %s, and does not try it for a day',
  async (_, beside) => {
    await using bench = await openBench({ beside });
    const { text, end } = await bench.download();
    const { turn, calls } = bench.takeTurn();
    await bench.pass(TRIAL_MS);
    await bench.pass(REQUEST_TIMEOUT_MS / 2);
    await bench.pass(REQUEST_TIMEOUT_MS / 2 - 1);
    expect(calls).toHaveLength(1);
    end();
    await text;
    await bench.pass(1);
    await turn;
    expect(calls).toHaveLength(2);
    expect(calls[0]?.aborted).toBe(true);
    expect(bench.learnt).toEqual([]);
    expect(bench.asked().slice(-2)).toEqual(['1 GET /profiles', '1 GET /profiles']);

    const later = await bench.download();
    const second = bench.takeTurn();
    for (let look = 0; look < 3; look++) await bench.pass(TRIAL_MS);
    expect(second.calls).toHaveLength(0);
    later.end();
    await second.turn;
  },
);

test('RouterClient.inTurn() gets no new token on a second connection that is not known, and none for a 401 there', async () => {
  await using bench = await openBench({ beside: (_, response) => answerJson(response, {}, 401) });
  const { text, end } = await bench.download();
  const { turn, calls } = bench.takeTurn();
  await bench.pass(TRIAL_MS);
  expect(calls).toHaveLength(1);
  end();
  await text;
  await turn;
  expect(bench.asked().filter((line) => line.includes('/auth/'))).toEqual(['1 POST /auth/login']);
  expect(bench.learnt).toEqual([]);
});

test('RouterClient.inTurn() that is given up on a second connection ends it, and the router is tried again', async () => {
  await using bench = await openBench({ beside: () => {} });
  const { text, end } = await bench.download();
  const gone = new AbortController();
  const given = bench.client.inTurn(gone.signal, (signal) => bench.client.readProfiles(signal));
  given.catch(() => {});
  await bench.pass(TRIAL_MS);
  gone.abort(new RangeError('gone'));
  await expect(given).rejects.toThrow('gone');
  const next = bench.takeTurn();
  await bench.pass(TRIAL_MS);
  expect(next.calls).toHaveLength(1);
  end();
  await text;
  await bench.pass(REQUEST_TIMEOUT_MS);
  await next.turn;
});
