import { expect, test, vi } from 'vitest';
import { DeadlineExceeded } from '../../src/base/index.ts';
import type { WebContent } from '../../src/web/index.ts';
import { parsePatienceMs } from '../../src/web/scrape.ts';
import { ask, openBench } from './bench.ts';

test.for(['/probe', '/probe?target=', '/probe?target=plant-7&target=plant-7', '/probe?Target=plant-7'])(
  'GET %s answers 400 and says what is missing',
  async (path) => {
    const { status, headers, text } = await ask(path);
    expect([status, text]).toEqual([400, 'Expected one parameter "target": the configured name of a router.\n']);
    expect(headers.get('content-type')).toMatch(/^text\/plain/i);
  },
);

test.for(['192.0.2.10', 'https://192.0.2.10', '<script>alert(1)</script>', 'plant-7 ', 'constructor'])(
  'GET /probe answers 404 for %j, in plain text that does not repeat it',
  async (target) => {
    const { status, headers, text } = await ask(`/probe?target=${encodeURIComponent(target)}`);
    expect([status, text]).toEqual([
      404,
      'No router of this name is configured. "target" is a name listed by /sd, not an address.\n',
    ]);
    expect(headers.get('content-type')).toMatch(/^text\/plain/i);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  },
);

test.for([
  ['', 0],
  ['&fresh=1', 1],
  ['&fresh=true', 1],
  ['&fresh=0', 0],
  ['&fresh=false', 0],
  ['&fresh=', 0],
  ['&fresh', 0],
] as const)('GET /probe?target=plant-7%s polls %i times before it answers', async ([query, times]) => {
  const order: string[] = [];
  const content: Partial<WebContent> = {
    async refresh(name) {
      order.push(`poll ${name}`);
    },
    renderMetrics() {
      order.push('render');
      return [];
    },
  };
  expect((await ask(`/probe?target=plant-7${query}`, { content })).status).toBe(200);
  expect(order).toEqual([...Array(times).fill('poll plant-7'), 'render']);
});

test('a fresh probe serves the last known values when the time of the scrape is nearly over', async () => {
  const signals: AbortSignal[] = [];
  const asked = Promise.withResolvers<void>();
  const onFailed = vi.fn<WebContent['onFailed']>();
  await using bench = await openBench({
    refresh(_name, signal) {
      signals.push(signal);
      asked.resolve();
      // Does not even listen.
      return new Promise(() => {});
    },
    renderMetrics: () => ['router_up 0\n'],
    onFailed,
  });
  let isAnswered = false;
  const headers = { 'X-Prometheus-Scrape-Timeout-Seconds': '7.000000' };
  const answer = bench.get('/probe?target=plant-7&fresh=1', { headers }).finally(() => {
    isAnswered = true;
  });
  await asked.promise;
  await bench.clock.advance(6499);
  expect((await bench.get('/-/healthy')).status).toBe(200);
  expect([isAnswered, signals[0]?.aborted]).toEqual([false, false]);
  await bench.clock.advance(1);
  const { status, body } = await answer;
  expect([status, body.toString()]).toEqual([200, 'router_up 0\n']);
  expect(signals[0]?.reason).toBeInstanceOf(DeadlineExceeded);
  expect(onFailed).not.toHaveBeenCalled();
});

test('a fresh probe whose poll breaks down serves the last known values and reports it', async () => {
  const cause = new RangeError('a mistake of ours');
  const onFailed = vi.fn<WebContent['onFailed']>();
  const content: Partial<WebContent> = { refresh: () => Promise.reject(cause), onFailed };
  const { status, text } = await ask('/probe?target=plant-7&fresh=1', { content });
  expect([status, text]).toEqual([200, 'router_up 1\n']);
  expect(onFailed.mock.calls).toEqual([[cause]]);
});

test('a poll that fails after its probe has been answered has no effect', async () => {
  const poll = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const unhandled = vi.fn<(reason: unknown) => void>();
  process.on('unhandledRejection', unhandled);
  await using bench = await openBench({
    refresh() {
      asked.resolve();
      return poll.promise;
    },
  });
  const answer = bench.get('/probe?target=plant-7&fresh=1');
  await asked.promise;
  await bench.clock.advance(10_000);
  expect((await answer).status).toBe(200);
  poll.reject(new RangeError('too late'));
  expect((await bench.get('/-/healthy')).status).toBe(200);
  process.off('unhandledRejection', unhandled);
  expect(unhandled).not.toHaveBeenCalled();
});

test.for([
  [undefined, 9500],
  ['', 9500],
  ['10', 9500],
  ['10.000000', 9500],
  [' 15 ', 14_500],
  ['5', 4500],
  // Of a short time a tenth is enough.
  ['1', 900],
  ['0.2', 180],
  // The ceiling.
  ['600', 119_500],
  ['1e9', 119_500],
  ['Infinity', 119_500],
  // An invalid time counts as none.
  ['0', 9500],
  ['-3', 9500],
  ['NaN', 9500],
  ['10s', 9500],
  ['0x10, 5', 9500],
] as const)('parsePatienceMs() reads %j as %i ms', ([header, patienceMs]) => {
  expect(parsePatienceMs(header)).toBe(patienceMs);
});
