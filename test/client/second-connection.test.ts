import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ConnectionLimit } from '../../src/client/index.ts';
import {
  answerJson,
  type BenchOptions,
  type Handler,
  inSequence,
  openRouter,
  REQUEST_TIMEOUT_MS,
} from './http-router.ts';
import { authority, certificate } from './wire-bench.ts';

const NEVER = new AbortController().signal;
const TRIAL_MS = 5000;
/** Time after which a token is renewed. */
const TOKEN_MS = 4 * 60_000;
/** Iterations of the event loop, in which a request that is sent would arrive. */
const LOOKS = 2000;

interface Options extends BenchOptions {
  /** Answers what is asked during a download. */
  readonly concurrent?: Handler;
  /** Answers everything else but downloads and logins. */
  readonly others?: Handler;
}

const answerEmpty: Handler = (_, response) => answerJson(response, {});

/** A router over HTTPS without parts of files, whose downloads end on command, and a client of it. */
async function openBench({ concurrent = answerEmpty, others = answerEmpty, ...options }: Options = {}) {
  const downloads: ServerResponse[] = [];
  const learnt: boolean[] = [];
  const bench = await openRouter(
    (request, response, arrived) => {
      if (request.url?.includes('/download/')) {
        response.write('first ');
        downloads.push(response);
      } else if (downloads.at(-1)?.writableEnded === false) concurrent(request, response, arrived);
      else others(request, response, arrived);
    },
    {
      certificate,
      tls: { caPem: authority.caPem },
      ...options,
      onSecondConnection: (answers) => void learnt.push(answers),
    },
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
  const takeSlot = () => {
    const calls: AbortSignal[] = [];
    const slot = bench.client.runInSlot(NEVER, async (signal) => {
      calls.push(signal);
      await bench.client.control.readProfiles(signal);
      await bench.client.control.readProfiles(signal);
    });
    slot.catch(() => {});
    return { slot, calls };
  };
  const pass = async (ms: number) => {
    // A download without bytes would end.
    if (downloads.at(-1)?.writableEnded === false) downloads.at(-1)?.write('more ');
    for (let look = 0; look < LOOKS; look++) await setImmediate();
    await bench.clock.advance(ms);
    for (let look = 0; look < LOOKS; look++) await setImmediate();
  };
  const asked = () => bench.arrived.map(({ line, connection }) => `${connection} ${line.split('?')[0]}`);
  return { ...bench, learnt, download, takeSlot, pass, asked, [Symbol.asyncDispose]: bench[Symbol.asyncDispose] };
}

test('RouterClient.runInSlot() goes on a second connection during a download, after five seconds the first time and at once from then on', async () => {
  await using bench = await openBench();
  const { text, end } = await bench.download();
  const first = bench.takeSlot();
  await bench.pass(TRIAL_MS - 1);
  expect(first.calls).toHaveLength(0);
  await bench.pass(1);
  await first.slot;
  const second = bench.takeSlot();
  await bench.pass(0);
  await second.slot;
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
  await bench.takeSlot().slot;
  expect(bench.asked().slice(-2)).toEqual(['1 GET /profiles', '1 GET /profiles']);
});

test.each<[string, Handler]>([
  ['is busy', (_, response) => answerJson(response, {}, 503)],
  ['closes it', (request) => request.socket.destroy()],
  ['does not answer on it', () => {}],
])(
  'RouterClient.runInSlot() starts again at the end of the download when the router %s, and does not try it for a day',
  async (_, concurrent) => {
    await using bench = await openBench({ concurrent });
    const { text, end } = await bench.download();
    const { slot, calls } = bench.takeSlot();
    await bench.pass(TRIAL_MS);
    await bench.pass(REQUEST_TIMEOUT_MS / 2);
    await bench.pass(REQUEST_TIMEOUT_MS / 2 - 1);
    expect(calls).toHaveLength(1);
    end();
    await text;
    await bench.pass(1);
    await slot;
    expect(calls).toHaveLength(2);
    expect(calls[0]?.aborted).toBe(true);
    expect(bench.learnt).toEqual([]);
    expect(bench.asked().slice(-2)).toEqual(['1 GET /profiles', '1 GET /profiles']);

    const later = await bench.download();
    const second = bench.takeSlot();
    for (let look = 0; look < 3; look++) await bench.pass(TRIAL_MS);
    expect(second.calls).toHaveLength(0);
    later.end();
    await second.slot;
  },
);

test('RouterClient.runInSlot() gets no new token on a second connection that is not known, and none for a 401 there', async () => {
  await using bench = await openBench({ concurrent: (_, response) => answerJson(response, {}, 401) });
  const { text, end } = await bench.download();
  const { slot, calls } = bench.takeSlot();
  await bench.pass(TRIAL_MS);
  expect(calls).toHaveLength(1);
  end();
  await text;
  await slot;
  expect(bench.asked().filter((line) => line.includes('/auth/'))).toEqual(['1 POST /auth/login']);
  expect(bench.learnt).toEqual([]);
});

test('RouterClient.runInSlot() that is aborted on a second connection closes it, and the router is tried again', async () => {
  await using bench = await openBench({ concurrent: () => {} });
  const { text, end } = await bench.download();
  const gone = new AbortController();
  const given = bench.client.runInSlot(gone.signal, (signal) => bench.client.control.readProfiles(signal));
  given.catch(() => {});
  await bench.pass(TRIAL_MS);
  gone.abort(new RangeError('gone'));
  await expect(given).rejects.toThrow('gone');
  const next = bench.takeSlot();
  await bench.pass(TRIAL_MS);
  expect(next.calls).toHaveLength(1);
  end();
  await text;
  await bench.pass(REQUEST_TIMEOUT_MS);
  await next.slot;
});

test('RouterClient.runInSlot() lets other calls wait for the end of a slot concurrent to a download, so that no token is renewed twice', async () => {
  const renew: Handler = (request, response, arrived) => {
    if (!request.url?.endsWith('/auth/refresh')) return answerEmpty(request, response, arrived);
    return answerJson(response, { access: 'access-9', refresh: 'refresh-9' });
  };
  await using bench = await openBench({ others: renew });
  const { text, end } = await bench.download();
  const hasWaited = Promise.withResolvers<void>();
  const slot = bench.client.runInSlot(NEVER, async (signal) => {
    await bench.client.control.readProfiles(signal);
    await hasWaited.promise;
    await bench.client.control.readProfiles(signal);
  });
  await bench.pass(TRIAL_MS);
  end();
  await text;
  await bench.pass(TOKEN_MS);
  const other = bench.client.readStatus('system');
  await bench.pass(0);
  hasWaited.resolve();
  await Promise.all([slot, other]);
  expect(bench.asked().slice(2)).toEqual([
    '2 GET /profiles',
    '2 POST /auth/refresh',
    '2 GET /profiles',
    '1 GET /status/system',
  ]);
  expect(bench.arrived.at(-1)?.token).toBe('access-9');
});

test('RouterClient.runInSlot() does not learn from an answer that comes when the download has ended', async () => {
  const held: ServerResponse[] = [];
  await using bench = await openBench({ concurrent: (_, response) => void held.push(response) });
  const { text, end } = await bench.download();
  const { slot, calls } = bench.takeSlot();
  await bench.pass(TRIAL_MS);
  end();
  await text;
  for (const response of held) answerJson(response, {});
  await slot;
  expect(calls).toHaveLength(1);
  expect(bench.learnt).toEqual([]);
});

test('RouterClient.runInSlot() waits for the download when no more connections may be open, and the router is tried again', async () => {
  const connectionLimit = new ConnectionLimit(1);
  await using bench = await openBench({ connectionLimit });
  const { text, end } = await bench.download();
  const { slot, calls } = bench.takeSlot();
  for (let look = 0; look < 3; look++) await bench.pass(TRIAL_MS);
  expect(calls).toHaveLength(1);
  end();
  await text;
  await slot;
  expect(calls).toHaveLength(2);

  connectionLimit.setMax(2);
  const later = await bench.download();
  const next = bench.takeSlot();
  await bench.pass(TRIAL_MS);
  await next.slot;
  later.end();
  await later.text;
  expect(bench.learnt).toEqual([true]);
});

test('RouterClient.runInSlot() asks once more when the router has closed the kept second connection', async () => {
  await using bench = await openBench({
    concurrent: inSequence(answerEmpty, answerEmpty, (request) => request.socket.destroy(), answerEmpty),
  });
  const { text, end } = await bench.download();
  for (let look = 0; look < 2; look++) {
    const { slot } = bench.takeSlot();
    await bench.pass(TRIAL_MS);
    await slot;
  }
  end();
  await text;
  expect(bench.learnt).toEqual([true]);
  expect(bench.asked().slice(2)).toEqual([
    ...Array.from({ length: 3 }, () => '2 GET /profiles'),
    ...Array.from({ length: 2 }, () => '3 GET /profiles'),
  ]);
});

test('RouterClient.runInSlot() takes a 401 that no login helps for an answer on a second connection', async () => {
  let isRefused = false;
  const refuse: Handler = (request, response, arrived) => {
    if (isRefused && request.url?.endsWith('/profiles')) answerJson(response, {}, 401);
    else answerEmpty(request, response, arrived);
  };
  await using bench = await openBench({ concurrent: refuse, others: refuse });
  isRefused = true;
  await expect(bench.client.readProfiles()).rejects.toThrow();
  const { text, end } = await bench.download();
  const calls: unknown[] = [];
  const slot = bench.client.runInSlot(NEVER, async (signal) => {
    calls.push(await bench.client.control.readProfiles(signal).catch((cause: unknown) => cause));
    calls.push(await bench.client.control.readStatus('system', signal));
  });
  await bench.pass(TRIAL_MS);
  await slot;
  end();
  await text;
  expect(calls).toEqual([expect.objectContaining({ code: 'auth', isAnswered: true }), {}]);
  expect(bench.learnt).toEqual([true]);
});

test('RouterClient.runInSlot() restarts work that continued in spite of a failed second connection', async () => {
  await using bench = await openBench({
    concurrent: inSequence(answerEmpty, (_, response) => answerJson(response, {}, 503)),
  });
  const { text, end } = await bench.download();
  let calls = 0;
  const slot = bench.client.runInSlot(NEVER, async (signal) => {
    calls++;
    await bench.client.control.readProfiles(signal);
    return await bench.client.control.readProfiles(signal).catch(() => 'failed');
  });
  await bench.pass(TRIAL_MS);
  end();
  await text;
  expect(await slot).toEqual({});
  expect(calls).toBe(2);
  expect(bench.learnt).toEqual([true, false]);
});

test('RouterClient.runInSlot() uses a second connection for one slot at a time; others wait for the download', async () => {
  await using bench = await openBench();
  const { text, end } = await bench.download();
  const slots = [bench.takeSlot(), bench.takeSlot()];
  await bench.pass(TRIAL_MS);
  await slots[0]?.slot;
  expect(slots[1]?.calls).toHaveLength(0);
  end();
  await text;
  await slots[1]?.slot;
  expect(bench.asked().slice(-2)).toEqual(['1 GET /profiles', '1 GET /profiles']);
});

test('RouterClient.runInSlot() ends a slot on a second connection before an earlier waiting one starts', async () => {
  const downloads: ServerResponse[] = [];
  await using bench = await openRouter((request, response, arrived) => {
    if (request.url?.includes('/download/')) downloads.push(response);
    else answerEmpty(request, response, arrived);
  });
  const pass = async (ms: number) => {
    for (let look = 0; look < LOOKS; look++) await setImmediate();
    await bench.clock.advance(ms);
    for (let look = 0; look < LOOKS; look++) await setImmediate();
  };
  const download = bench.client.readLog('network/current', NEVER, async (body) => {
    for await (const _ of body);
  });
  await pass(0);
  const told: string[] = [];
  const mayEnd = Promise.withResolvers<void>();
  const earlier = bench.client.runInSlot(NEVER, async (signal) => {
    told.push('earlier');
    await bench.client.control.readStatus('third', signal);
    await bench.client.control.readStatus('fourth', signal);
  });
  await pass(400);
  const later = bench.client.runInSlot(NEVER, async (signal) => {
    await bench.client.control.readStatus('first', signal);
    told.push('later');
    await mayEnd.promise;
    await bench.client.control.readStatus('second', signal);
  });
  // The earlier one looks just before the file begins, and then once a second.
  await pass(TRIAL_MS - 400);
  downloads[0]?.write('first ');
  await pass(400);
  downloads[0]?.end('second');
  await download;
  await pass(0);
  expect(told).toEqual(['later']);
  mayEnd.resolve();
  await Promise.all([earlier, later]);
  expect(bench.arrived.slice(2).map(({ line, connection }) => `${connection} ${line}`)).toEqual([
    '2 GET /status/first',
    '2 GET /status/second',
    '1 GET /status/third',
    '1 GET /status/fourth',
  ]);
});

test('RouterClient.close() ends a download and its concurrent slot', async () => {
  await using bench = await openBench({ concurrent: () => {} });
  const { text } = await bench.download();
  const { slot } = bench.takeSlot();
  await bench.pass(TRIAL_MS);
  const closed = bench.client.close(AbortSignal.abort(new RangeError('no time')));
  await expect(closed).rejects.toThrow('no time');
  await expect(text).rejects.toThrow();
  await expect(slot).rejects.toThrow();
  expect(bench.learnt).toEqual([]);
});
