import { cpSync } from 'node:fs';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { startAgent } from '../../src/agent/index.ts';
import { createSeededRandom, createSteppedClock } from '../../src/base/index.ts';
import { loadConfig } from '../../src/config/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { SHIPPED_MODULES_FOLDER } from '../../src/status/index.ts';
import { openCountingProxy } from '../client/counting-proxy.ts';
import { createCollectingLogger } from '../support/collecting-logger.ts';

const MINUTE_MS = 60_000;

test('a reload with another group, account or TLS set touches the routers that have it, and nothing of the others', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-groups-'));
  const clock = createSteppedClock(Date.UTC(2026, 10, 21, 12));
  await using simulator = await startSimulator({ routers: 4, clock, seed: 7 });
  const wires = await Promise.all(simulator.routers.map(({ url }) => openCountingProxy(Number(new URL(url).port))));
  const file = join(folder.path, 'router-exporter.yaml');
  await writeFile(join(folder.path, 'ca.pem'), simulator.caPem);
  const sites = ['munich', 'munich', 'berlin', 'none'];
  const routers = simulator.routers.map(
    ({ name }, index) =>
      `  - { name: ${name}, url: "https://127.0.0.1:${wires[index]?.port}", groups: [${sites[index]}] }\n`,
  );
  /** A configuration as an operator changes it. */
  const write = ({ berlin = '', munich = 'monitor', pinned = '' } = {}) =>
    writeFile(
      file,
      `web: { listen: ["127.0.0.1:0"] }
storage: { path: state }
defaults: { username: monitor, password: simulated, tls_set: sim, timezone: Europe/Berlin, modules: [] }
credentials: { munich: { username: "${munich}", password: simulated } }
tls_sets: { sim: { ca_file: ca.pem }, other: { ca_file: ca.pem${pinned} } }
groups:
  munich: { credentials: munich, labels: { site: munich } }
  berlin: { labels: { site: berlin }${berlin} }
  none: { tls_set: other }
routers:
${routers.join('')}sinks: [{ name: console, type: stdout }]
`,
    );
  await write();
  const load = () => loadConfig(file, {}, { shippedModules: SHIPPED_MODULES_FOLDER });
  const loaded = await load();
  if (!loaded.ok) throw new RangeError(JSON.stringify(loaded.faults));
  const lines: string[] = [];
  const agent = await startAgent({
    config: loaded.config,
    reload: load,
    web: { isLifecycleEnabled: true },
    clock,
    version: '0.0.0-test',
    random: createSeededRandom(7),
    logger: createCollectingLogger([]),
    stdout: new Writable({
      write(chunk: Buffer, _encoding, done) {
        lines.push(...chunk.toString().split('\n'));
        done();
      },
    }),
  });
  const advance = (durationMs: number) => clock.advance(durationMs, () => agent.whenIdle());
  const reload = async () => (await fetch(`${agent.urls[0]}/-/reload`, { method: 'POST' })).text();
  /** Everything of each router that a reload could disturb. */
  const readTraces = () => {
    // A copy with the log of SQLite, because the agent locks its own.
    const copy = join(folder.path, 'copy');
    cpSync(join(folder.path, 'state'), copy, { recursive: true });
    using database = new DatabaseSync(join(copy, 'router-exporter.db'));
    return simulator.routers.map(({ name, counters: { logins, logouts, refreshes } }, index) => ({
      connections: wires[index]?.greetings.length,
      sessions: { logins, logouts, refreshes },
      positions: database
        .prepare('SELECT component, position FROM log WHERE router = ?')
        .all(name)
        .map((row) => JSON.stringify(row)),
    }));
  };
  const shift = async () => {
    const before = readTraces();
    expect(await reload()).toContain('Reloaded');
    const atOnce = readTraces();
    // Positions are those of before until there is something to read; nothing else may move at all.
    const touched = before.flatMap((trace, index) =>
      JSON.stringify(trace) === JSON.stringify(atOnce[index]) ? [] : [sites[index]],
    );
    await advance(MINUTE_MS);
    const after = readTraces();
    const reconnected = before.flatMap((trace, index) =>
      trace.sessions.logins === after[index]?.sessions.logins ? [] : [sites[index]],
    );
    return { touched, reconnected };
  };
  try {
    for (const router of simulator.routers) router.appendLog('network', `first of ${router.name}`);
    await advance(2 * MINUTE_MS);
    for (const { connections, sessions, positions } of readTraces()) {
      expect(connections).toBeGreaterThan(0);
      expect(sessions).toMatchObject({ logins: 1, logouts: 0 });
      expect(positions.length).toBeGreaterThan(0);
    }

    expect(await shift()).toEqual({ touched: [], reconnected: [] });
    await write({ berlin: ', poll: { timeout: 7s }' });
    expect(await shift()).toEqual({ touched: ['berlin'], reconnected: ['berlin'] });
    // The same account, written in another way, is no change.
    await write({ berlin: ', poll: { timeout: 7s }', munich: String.raw`\x6donitor` });
    expect(await shift()).toEqual({ touched: [], reconnected: [] });
    await write({ berlin: ', poll: { timeout: 7s }', munich: 'admin' });
    expect(await shift()).toEqual({ touched: ['munich', 'munich'], reconnected: ['munich', 'munich'] });
    await write({ berlin: ', poll: { timeout: 7s }', pinned: ', server_name: 127.0.0.1' });
    expect(await shift()).toEqual({
      touched: ['munich', 'munich', 'none'],
      reconnected: ['munich', 'munich', 'none'],
    });

    // Every line of the log arrived once, and goes on behind it.
    for (const router of simulator.routers) router.appendLog('network', `second of ${router.name}`);
    await advance(2 * MINUTE_MS);
    const messages = lines.flatMap((line) => (line === '' ? [] : [(JSON.parse(line) as { message: string }).message]));
    const told = messages.filter((message) => /^(?:first|second) of /.test(message)).toSorted();
    expect(told).toEqual(
      ['first', 'second'].flatMap((which) => simulator.routers.map(({ name }) => `${which} of ${name}`)),
    );
  } finally {
    await agent.stop();
    for (const wire of wires) await wire[Symbol.asyncDispose]();
  }
});
