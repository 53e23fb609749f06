import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Secret } from '../../src/base/index.ts';
import type { Config } from '../../src/config/index.ts';
import type { PlanSummary } from '../../src/web/index.ts';
import { runCommand } from '../cli/run-command.ts';
import { startFleet } from '../support/fleet.ts';

const MINUTE_MS = 60_000;
const QUICK = { web: { isLifecycleEnabled: true }, router: { modules: [] } };
const TRIAL = '/-/reload?dry_run=1';

/** The first router polls less often with another password, the second is in maintenance, the third is gone, and one is new. */
function change(config: Config): Config {
  const [one, two] = config.routers;
  if (!one || !two) throw new RangeError('There are too few routers');
  return {
    ...config,
    sinks: [],
    routers: [
      { ...one, password: new Secret('hidden-1'), poll: { ...one.poll, interval: 2 * MINUTE_MS } },
      { ...two, state: 'maintenance' },
      { ...one, name: 'sim-4' },
    ],
  };
}

test('a trial says what a reload would change, without values, and changes nothing; the reload then does that', async () => {
  await using fleet = await startFleet({ routers: 3, ...QUICK });
  await fleet.advance(2 * MINUTE_MS);
  fleet.propose((config) => ({ ...change(config), sinks: config.sinks }));
  const url = `${fleet.agent.urls[0]}${TRIAL}`;

  const json = await fetch(url, { method: 'POST', headers: { accept: 'application/json' } });
  const text = await (await fetch(url, { method: 'POST' })).text();
  const before = await fleet.metrics();
  await fleet.advance(2 * MINUTE_MS);
  const counters = fleet.router(0).counters;

  expect(await json.json()).toEqual({
    routers: {
      total: 3,
      added: { count: 1, names: ['sim-4'] },
      changed: {
        count: 2,
        routers: [
          { name: 'sim-1', keys: ['password', 'poll.interval'] },
          { name: 'sim-2', keys: ['state'] },
        ],
      },
      removed: { count: 1, names: ['sim-3'] },
      reconnected: 1,
    },
    sections: [],
    needsRestart: [],
  } satisfies PlanSummary);
  expect(text).toContain('  sim-1: password, poll.interval\n');
  expect(text).not.toContain('hidden');
  expect(before).toContain('router_up{router="sim-3"} 1\n');
  expect(counters).toMatchObject({ logins: 1, logouts: 0 });
  await fleet.reload((config) => ({ ...change(config), sinks: config.sinks }));
  expect(fleet.ownLog.at(-1)).toMatchObject({ fields: { added: 1, changed: 1, removed: 1 } });
  fleet.propose((config) => ({ ...change(config), sinks: config.sinks }));
  expect(await (await fetch(url, { method: 'POST' })).text()).toBe('A reload would change nothing (routers: 3).\n');
});

test('a change for all routers reconnects all of them, and a faulty configuration is refused as by a reload', async () => {
  await using fleet = await startFleet({ routers: 2, ...QUICK });
  const url = `${fleet.agent.urls[0]}${TRIAL}`;
  fleet.propose((config) => ({ ...config, sinks: [] }));
  const text = await (await fetch(url, { method: 'POST' })).text();
  fleet.propose(undefined);
  const faulty = await fetch(url, { method: 'POST' });
  const wrong = await fetch(`${url}&accept_removals=x`, { method: 'POST' });

  expect(text).toContain('sessions to be restarted: 2\nsections changed: sinks\n');
  expect([faulty.status, await faulty.text()]).toEqual([500, expect.stringContaining('router-exporter.yaml:3:5')]);
  expect(wrong.status).toBe(400);
  expect(await fleet.metrics('/metrics/agent')).toContain('router_exporter_config_last_reload_successful 1\n');
});

test('check --diff and fleet ask the running agent, as text and for programs', async () => {
  await using fleet = await startFleet({ routers: 2, ...QUICK });
  await fleet.advance(2 * MINUTE_MS);
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-'));
  const file = join(folder.path, 'router-exporter.yaml');
  await writeFile(file, 'routers: [{ name: a, url: "https://192.0.2.1", auth: none }]');
  const [url = ''] = fleet.agent.urls;
  fleet.propose((config) => ({ ...config, routers: config.routers.slice(0, 1) }));

  const diff = await runCommand(['check', '--config.file', file, '--diff', url]);
  const json = await runCommand(['check', '--config.file', file, '--diff', `${url}/`, '--json']);
  const checked = await runCommand(['check', '--config.file', file, '--json']);
  const table = await runCommand(['fleet', '--url', url]);
  const none = await runCommand(['fleet', '--url', url, '--state', 'down', '--json']);
  const gone = await runCommand(['fleet', '--url', 'http://127.0.0.1:1']);
  const wrong = await runCommand(['fleet', '--url', 'ftp://x']);
  const misspelt = await runCommand(['fleet', '--url', url, '--state', 'maintenence']);

  expect(diff).toMatchObject({ code: 0, stderr: '' });
  expect(diff.stdout).toContain(`${file}: no faults (routers: 1, sinks: 0)\n`);
  expect(diff.stdout).toContain('routers removed: 1\n  sim-2\n');
  expect((JSON.parse(json.stdout) as PlanSummary).routers.removed).toEqual({ count: 1, names: ['sim-2'] });
  expect(JSON.parse(checked.stdout)).toMatchObject({ file, faults: [], routers: 1, sinks: 0 });
  expect(table.stdout).toMatch(
    /^ROUTER +STATE .*\nsim-1 +up .*https:.*\nsim-2 +up .*\n2 routers, 2 up; [\d.]+ KiB today\n$/,
  );
  expect(JSON.parse(none.stdout)).toEqual({ routers: [] });
  expect([gone.code, gone.stderr]).toEqual([1, expect.stringContaining('could not be reached')]);
  expect(wrong.code).toBe(2);
  expect([misspelt.code, misspelt.stdout]).toEqual([2, '']);
  expect(misspelt.stderr).toContain('Expected one of up, down, budget, unknown, active, maintenance, paused, retired.');
});
