import { expect, test } from 'vitest';
import type { EventSummary, LogLine } from '../../src/web/index.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { findFreePort } from '../support/free-port.ts';

/** A process that polls one of two routers, and knows where the other process is. */
function startProcess(index: number, ports: readonly number[]): Promise<Fleet> {
  const peers = ports.map((port) => `http://127.0.0.1:${port}`);
  return startFleet({
    routers: 2,
    config: (config) => ({
      ...config,
      routers: config.routers.filter((_, place) => place === index),
      shards: {
        index,
        total: 2,
        peers,
        others: new Map(
          config.routers
            .filter((_, place) => place !== index)
            .map(({ name, url, labels }) => [name, { name, url, labels, shard: 1 - index }]),
        ),
      },
      web: { listen: [{ host: '127.0.0.1', port: ports[index] ?? 0 }], peers },
    }),
  });
}

test('each of two processes shows the routers, logs, gaps, last hours and sinks of both, and names the other when it is gone', async () => {
  const ports = [await findFreePort(), await findFreePort()];
  await using first = await startProcess(0, ports);
  await using second = await startProcess(1, ports);
  const read = async (path: string) => {
    const answer = await fetch(`${first.agent.urls[0]}${path}`);
    const text = await answer.text();
    return /<main.*<\/main>/s.exec(text)?.[0] ?? text;
  };
  for (const [index, fleet] of [first, second].entries()) {
    await fleet.advance(60_000);
    fleet.router(index).appendLog('network', `a needle of process ${index}`);
    // The line behind it ends the wait for what might continue it.
    fleet.router(index).appendLog('network', 'another line');
    await fleet.advance(60_000);
  }

  const { records } = JSON.parse(await read('/api/v1/records')) as { records: LogLine[] };
  const needles = records.filter(({ message }) => message.includes('needle'));
  expect(needles.map(({ router }) => router).toSorted()).toEqual(['sim-1', 'sim-2']);
  const logs = await read('/logs');
  expect(logs.match(/a needle of process \d/g)?.toSorted()).toEqual(['a needle of process 0', 'a needle of process 1']);
  const fleet = await read('/');
  expect(fleet).toContain('<caption>2 routers</caption>');
  expect(fleet).toMatch(/Last \d+ (s|min): no router down\./);
  expect(fleet.match(/c-spark"><svg class="spark"/g)).toHaveLength(2);
  expect(await read('/logs/positions')).toMatch(/sim-1.*sim-2/s);
  await second.router(1).fault('down');
  await second.advance(300_000);
  const { events } = JSON.parse(await read('/api/v1/events')) as { events: EventSummary[] };
  const told = events.map(({ kind, router }) => `${kind} ${router}`);
  expect(told).toContain('router.down sim-2');
  expect(told.filter((one) => one === 'agent.start null')).toHaveLength(2);
  await second.router(1).clearFault();
  expect((await read('/sinks')).match(/<b>process \d:<\/b>/g)).toEqual(['<b>process 0:</b>', '<b>process 1:</b>']);
  for (const path of ['/', '/logs', '/logs/positions', '/sinks', '/dead-letters']) {
    expect(await read(path)).not.toContain('does not answer');
  }

  await second.stopAgent();
  await first.advance(6000);
  for (const path of ['/', '/logs', '/logs/positions', '/sinks', '/dead-letters']) {
    expect(await read(path)).toContain(`Process 1 (http://127.0.0.1:${ports[1]}) does not answer`);
  }
});
