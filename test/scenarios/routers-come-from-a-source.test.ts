import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startAgent } from '../../src/agent/index.ts';
import { createSeededRandom, createSteppedClock, type SteppedClock } from '../../src/base/index.ts';
import { loadConfig } from '../../src/config/index.ts';
import { SourceKeeper } from '../../src/inventory/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { SHIPPED_MODULES_FOLDER } from '../../src/status/index.ts';
import { createCollectingLogger, type OwnLine } from '../support/collecting-logger.ts';
import { openInventory } from '../support/open-inventory.ts';

const MINUTE_MS = 60_000;
/** Steps of the clock until a list was read, checked and loaded: far more than it needs. */
const STEPS_MAX = 200;
const STEP_MS = 15_000;
/** Time between two steps for a request to the source, and for what follows it. Milliseconds. */
const REQUEST_MS_MAX = 200;
const ANSWER_MS_MAX = 3000;

/** An agent whose routers come from a source, as the program starts it. */
async function startFrom(file: string, clock: SteppedClock, ownLog: OwnLine[]) {
  const inventory = new SourceKeeper();
  const load = () => loadConfig(file, {}, { shippedModules: SHIPPED_MODULES_FOLDER, inventory });
  const loaded = await load();
  if (!loaded.ok) throw new RangeError(JSON.stringify(loaded.faults));
  const agent = await startAgent({
    config: loaded.config,
    sources: loaded.sources,
    inventory,
    reload: load,
    web: { isLifecycleEnabled: true },
    clock,
    version: '0.0.0-test',
    random: createSeededRandom(7),
    logger: createCollectingLogger(ownLog),
    stdout: process.stdout,
  });
  return {
    agent,
    reading: async (name: string) => {
      const text = await (await fetch(`${agent.urls[0]}/metrics/agent`)).text();
      return Number(new RegExp(`^router_exporter_source_${name}\\{source="inv"\\} (\\S+)$`, 'm').exec(text)?.[1]);
    },
    readPage: async () => (await fetch(`${agent.urls[0]}/config`)).text(),
    post: async (path: string) => (await fetch(`${agent.urls[0]}${path}`, { method: 'POST' })).text(),
  };
}

test('a source adds, changes and removes routers of a running agent; those that did not change keep their session', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'router-exporter-inventory-'));
  const clock = createSteppedClock(Date.UTC(2026, 10, 21, 12));
  const simulator = await startSimulator({ routers: 3, clock, seed: 7 });
  const ownLog: OwnLine[] = [];
  try {
    await using server = await openInventory();
    const items = simulator.routers.map(({ name, url }) => ({ name, url, groups: ['plant'] }));
    const file = join(folder, 'router-exporter.yaml');
    await writeFile(join(folder, 'ca.pem'), simulator.caPem);
    await writeFile(
      file,
      `web: { listen: ["127.0.0.1:0"] }
credentials: { sim: { username: monitor, password: simulated } }
tls_sets: { sim: { ca_file: ca.pem } }
groups: { plant: { credentials: sim, tls_set: sim } }
router_sources:
  - { name: inv, type: http, url: "${server.url}", allowed_addresses: [127.0.0.0/8], allowed_groups: [plant] }
`,
    );
    server.list(items.slice(0, 2));
    let running = await startFrom(file, clock, ownLog);
    const counters = (index: number) => simulator.routers[index]?.counters;
    const advance = (durationMs: number) => clock.advance(durationMs, () => running.agent.whenIdle());
    /** Lets time pass until it holds. */
    const until = async (holds: () => boolean) => {
      for (let step = 0; step < STEPS_MAX && !holds(); step++) {
        const asked = server.requests.length;
        await advance(STEP_MS);
        const begin = performance.now();
        // What follows a request has limits by the clock, which would pass for a busy machine.
        const waitMs = () => (server.requests.length > asked ? ANSWER_MS_MAX : REQUEST_MS_MAX);
        while (!holds() && performance.now() - begin < waitMs()) await setImmediate();
      }
      expect(holds()).toBe(true);
    };
    const lines = (text: string) => ownLog.filter(({ message }) => message.startsWith(text)).length;
    try {
      await until(() => running.agent.summary().routers === 2);
      await advance(MINUTE_MS);
      expect(running.agent.summary().states.up).toBe(2);

      // Of two routers one changes, a third one comes, and one that may not come is named as it is written.
      const stranger = { targets: ['192.0.2.1'] };
      server.list([stranger, items[0], { ...items[1], labels: { site: 'munich' } }, items[2]]);
      await until(() => running.agent.summary().routers === 3);
      await advance(MINUTE_MS);
      expect(running.agent.summary().states.up).toBe(3);
      expect(counters(0)).toMatchObject({ logins: 1, logouts: 0 });
      expect(counters(1)).toMatchObject({ logins: 2, logouts: 1 });
      expect(ownLog.find(({ message }) => message === 'Routers of a source are not used')?.fields).toEqual({
        source: 'inv',
        routers: 1,
        reasons: [
          expect.stringContaining('source inv: target 1 of entry 1 of the answer, "192.0.2.1": the URL is not'),
        ],
      });

      // One goes, which one answer may always do.
      server.list(items.slice(0, 2));
      await until(() => running.agent.summary().routers === 2);
      await expect.poll(() => counters(2)).toMatchObject({ logins: 1, logouts: 1 });
      expect(counters(0)).toMatchObject({ logins: 1, logouts: 0 });

      // A source that fails changes nothing.
      server.answer = (_request, response) => response.writeHead(503).end();
      await until(() => lines('A source of routers could not be read') === 1);
      expect([running.agent.summary().routers, await running.reading('up')]).toEqual([2, 0]);

      // Neither does one that has lost its routers, until it is confirmed.
      server.list([]);
      await until(() => lines('A source lacks many of its routers') === 1);
      await advance(2 * MINUTE_MS);
      expect([running.agent.summary().routers, await running.reading('held_removals')]).toEqual([2, 2]);
      expect(counters(0)).toMatchObject({ logins: 1, logouts: 0 });
      expect(await running.readPage()).toContain('The newest answer of inv lacks 2 of 2 routers, so it is not used.');
      expect(await running.post('/-/reload')).toContain('Reloaded');
      expect(running.agent.summary().routers).toBe(2);

      // After a restart, the list is that of before, although the source is down.
      await running.agent.stop();
      server.answer = (_request, response) => response.destroy();
      running = await startFrom(file, clock, ownLog);
      expect(running.agent.summary().routers).toBe(2);
      server.list([]);
      await until(() => lines('A source lacks many of its routers') === 2);
      expect(await running.post('/-/reload?accept_removals=other')).toContain('No answer of a source "other" waits');
      expect(await running.post('/-/reload?accept_removals=inv')).toContain('Reloaded');
      expect([running.agent.summary().routers, await running.reading('held_removals')]).toEqual([0, 0]);
    } finally {
      await running.agent.stop();
    }
  } finally {
    await simulator.close();
    await rm(folder, { recursive: true, force: true });
  }
});
