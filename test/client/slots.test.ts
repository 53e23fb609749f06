import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { RouterClient } from '../../src/client/index.ts';
import { answerJson, type Handler, openRouter, type RouterBench } from './http-router.ts';

const NEVER = new AbortController().signal;
const SECOND_MS = 1000;
/** Iterations of the event loop, in which a request that is sent would arrive. */
const LOOKS = 300;
const FILE = Array.from({ length: 1000 }, (_, line) => `line ${line}\n`).join('');

/**
 * Serves {@link FILE} from where it is asked for, and of the first answer only 3000 bytes, until the client leaves. Every
 * later answer has this status, and is of `later`.
 */
function serve(later = FILE, status = 206): Handler {
  let answers = 0;
  return (request, response) => {
    if (!request.url?.includes('/download/')) return answerJson(response, {});
    if (answers++ === 0) return response.writeHead(200, { 'accept-ranges': 'bytes' }).write(FILE.slice(0, 3000));
    if (status === 200) return response.end(later);
    if (status === 416) return response.writeHead(416).end();
    const start = Number(/^bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0);
    const range = `bytes ${start}-${later.length - 1}/${later.length}`;
    return response.writeHead(206, { 'content-range': range }).end(later.slice(start));
  };
}

/** Reads a file, and takes a slot with one call when 3000 bytes of it have come. */
async function readWithTurn(bench: RouterBench) {
  let text = '';
  const begun = Promise.withResolvers<void>();
  const reading = bench.client.readLog('network/current', NEVER, async (body) => {
    for await (const chunk of body) {
      text += Buffer.from(chunk).toString('utf8');
      if (text.length >= 3000) begun.resolve();
    }
  });
  const outcome = reading.then(
    () => 'read',
    (cause: unknown) => cause,
  );
  await begun.promise;
  const slot = takeSlot(bench.client);
  for (let look = 0; look < LOOKS; look++) await setImmediate();
  // A part lasts five seconds at least.
  await bench.clock.advance(5 * SECOND_MS - 1);
  for (let look = 0; look < LOOKS; look++) await setImmediate();
  expect(bench.lines()).not.toContain('GET /profiles');
  await bench.clock.advance(1);
  await slot;
  return { outcome: await outcome, text };
}

async function takeSlot(client: RouterClient): Promise<void> {
  await client.runInSlot(NEVER, (signal) => client.control.readProfiles(signal));
}

test('RouterClient.runInSlot() suspends a download after five seconds, which resumes at the same byte', async () => {
  await using bench = await openRouter(serve());
  expect(await readWithTurn(bench)).toEqual({ outcome: 'read', text: FILE });
  expect(bench.lines().filter((line) => !line.includes('/auth/'))).toEqual([
    'GET /download/log?log_file=network%2Fcurrent',
    'GET /profiles',
    'GET /download/log?log_file=network%2Fcurrent',
  ]);
});

test.each([
  ['has other bytes before that place', FILE.replaceAll('line', 'LINE'), 206],
  ['is shorter than that', FILE.slice(0, 2900), 206],
  ['ends before that place', FILE, 416],
  ['is sent as a whole', FILE, 200],
])(
  'RouterClient.readLog() throws connect when a file that gave way %s, and hands on nothing of it',
  async (_, later, status) => {
    await using bench = await openRouter(serve(later, status));
    const { outcome, text } = await readWithTurn(bench);
    expect(outcome).toMatchObject({ code: 'connect', isAnswered: false });
    expect(text).toBe(FILE.slice(0, 3000));
  },
);

test('RouterClient.runInSlot() waits for a download of a router that does not send parts, and comes before the next', async () => {
  const responses: (() => void)[] = [];
  await using bench = await openRouter((request, response) => {
    if (!request.url?.includes('/download/')) return answerJson(response, {});
    response.write('first ');
    responses.push(() => response.end('second'));
  });
  const read = () =>
    bench.client.readLog('network/current', NEVER, async (body) => {
      let text = '';
      for await (const chunk of body) text += Buffer.from(chunk).toString('utf8');
      return text;
    });
  const first = read();
  while (responses.length === 0) await setImmediate();
  const slot = takeSlot(bench.client);
  const second = read();
  expect(bench.client.isSlotAwaited).toBe(true);
  await bench.clock.advance(6 * SECOND_MS);
  expect(bench.lines().at(-1)).toContain('/download/log');
  responses[0]?.();
  expect(await first).toBe('first second');
  await slot;
  while (responses.length === 1) await setImmediate();
  responses[1]?.();
  expect(await second).toBe('first second');
  expect(bench.lines().slice(-3)).toEqual([
    'GET /download/log?log_file=network%2Fcurrent',
    'GET /profiles',
    'GET /download/log?log_file=network%2Fcurrent',
  ]);
});

test('RouterClient.runInSlot() that is aborted does not delay a download', async () => {
  await using bench = await openRouter((request, response) => {
    if (request.url?.includes('/download/')) response.end('text');
    else answerJson(response, {});
  });
  const gone = AbortSignal.abort(new RangeError('gone'));
  await expect(bench.client.runInSlot(gone, () => Promise.resolve())).rejects.toThrow('gone');
  expect(bench.client.isSlotAwaited).toBe(false);
  await bench.client.readLog('network/current', NEVER, async () => {});
});

test('RouterClient.runInSlot() comes before a download that waits for another request', async () => {
  const held: (() => void)[] = [];
  await using bench = await openRouter((request, response) => {
    if (request.url?.includes('/download/')) response.end('text');
    else if (request.url?.endsWith('/status/first')) held.push(() => answerJson(response, {}));
    else answerJson(response, {});
  });
  const first = bench.client.readStatus('first');
  while (held.length === 0) await setImmediate();
  const download = bench.client.readLog('network/current', NEVER, async () => {});
  const slot = takeSlot(bench.client);
  held[0]?.();
  await Promise.all([first, download, slot]);
  expect(bench.lines().slice(-3)).toEqual([
    'GET /status/first',
    'GET /profiles',
    'GET /download/log?log_file=network%2Fcurrent',
  ]);
});

test('RouterClient.runInSlot() comes before a download that is asked for in the same moment', async () => {
  await using bench = await openRouter((request, response) => {
    if (request.url?.includes('/download/')) response.end('text');
    else answerJson(response, {});
  });
  const download = bench.client.readLog('network/current', NEVER, async () => {});
  await Promise.all([download, takeSlot(bench.client)]);
  expect(bench.lines()).toEqual(['POST /auth/login', 'GET /profiles', 'GET /download/log?log_file=network%2Fcurrent']);
});

test.each([
  ['the next bytes', false],
  ['the end of a slot', true],
])(
  'RouterClient.readLog() lets others in when its reader has left a file while it waited for %s',
  async (_, givesWay) => {
    await using bench = await openRouter(serve());
    const [begun, leaves, mayEnd] = [1, 2, 3].map(() => Promise.withResolvers<void>());
    const reading = bench.client.readLog('network/current', NEVER, async (body) => {
      const pieces = body[Symbol.asyncIterator]();
      for (let bytes = 0; bytes < 3000; ) bytes += (await pieces.next()).value?.length ?? 0;
      const next = pieces.next().catch((cause: unknown) => cause);
      begun?.resolve();
      await leaves?.promise;
      await pieces.return?.();
      return next;
    });
    await begun?.promise;
    let hasTurn = false;
    const slot =
      givesWay &&
      bench.client.runInSlot(NEVER, async () => {
        hasTurn = true;
        await mayEnd?.promise;
      });
    for (let look = 0; look < LOOKS; look++) await setImmediate();
    await bench.clock.advance(5 * SECOND_MS);
    for (let look = 0; look < LOOKS; look++) await setImmediate();
    expect(hasTurn).toBe(givesWay);
    leaves?.resolve();
    expect(await reading).toMatchObject({ name: 'AbortError' });
    mayEnd?.resolve();
    await slot;
    await bench.client.readStatus('system');
    expect(bench.lines().slice(1)).toEqual(['GET /download/log?log_file=network%2Fcurrent', 'GET /status/system']);
  },
);

test('RouterClient.runInSlot() lets the calls of others wait for its end, and their order is that of asking', async () => {
  await using bench = await openRouter((_request, response) => answerJson(response, {}));
  const hasAsked = Promise.withResolvers<void>();
  const slot = bench.client.runInSlot(NEVER, async (signal) => {
    await bench.client.control.readStatus('first', signal);
    await hasAsked.promise;
    await bench.client.control.readStatus('second', signal);
  });
  await bench.called;
  const others = ['third', 'fourth'].map((name) => bench.client.readStatus(name));
  for (let look = 0; look < LOOKS; look++) await setImmediate();
  hasAsked.resolve();
  await Promise.all([slot, ...others]);
  expect(bench.lines().slice(1)).toEqual(['first', 'second', 'third', 'fourth'].map((name) => `GET /status/${name}`));
});

test('RouterClient.runInSlot() asks one by one what its work asks for at the same time, after one login', async () => {
  let underWay = 0;
  const most: number[] = [];
  await using bench = await openRouter(async (_request, response) => {
    most.push(++underWay);
    await setImmediate();
    underWay--;
    answerJson(response, {});
  });
  const { control } = bench.client;
  await bench.client.runInSlot(NEVER, (signal) =>
    Promise.all(['first', 'second'].map((name) => control.readStatus(name, signal))),
  );
  expect(bench.lines()).toEqual(['POST /auth/login', 'GET /status/first', 'GET /status/second']);
  expect(most).toEqual([1, 1]);
});

test('RouterClient.control has priority over waiting calls also without a slot', async () => {
  const held: (() => void)[] = [];
  await using bench = await openRouter((request, response) => {
    if (request.url?.endsWith('/status/first')) held.push(() => answerJson(response, {}));
    else answerJson(response, {});
  });
  const calls = [bench.client.readStatus('first'), bench.client.readStatus('third')];
  while (held.length === 0) await setImmediate();
  calls.push(bench.client.control.readStatus('second'));
  held[0]?.();
  await Promise.all(calls);
  expect(bench.lines().slice(1)).toEqual(['first', 'second', 'third'].map((name) => `GET /status/${name}`));
});

test('RouterClient removes a call that is aborted while it waits from the queue', async () => {
  const held: (() => void)[] = [];
  await using bench = await openRouter((request, response) => {
    if (request.url?.endsWith('/status/first')) held.push(() => answerJson(response, {}));
    else answerJson(response, {});
  });
  const first = bench.client.readStatus('first');
  while (held.length === 0) await setImmediate();
  const gone = new AbortController();
  const given = [bench.client, bench.client.control].map((calls) => calls.readStatus('second', gone.signal));
  const next = bench.client.readStatus('third');
  gone.abort(new RangeError('gone'));
  for (const call of given) await expect(call).rejects.toThrow('gone');
  held[0]?.();
  await Promise.all([first, next]);
  expect(bench.lines().slice(1)).toEqual(['GET /status/first', 'GET /status/third']);
});
