import { expect, test } from 'vitest';
import { createSteppedClock } from '../../src/base/index.ts';
import {
  findDemoPace,
  renderRouterSettings,
  startDemoFaults,
  startDemoRouters,
} from '../../src/cli/demo/demo-routers.ts';
import type { Config } from '../../src/config/index.ts';
import { demoLogSettings, startSimulator } from '../../src/simulator/index.ts';
import { EmbeddedStore } from '../../src/store/index.ts';
import type { RouterAnswer } from '../../src/web/index.ts';
import { createRouterSettings } from '../agent/router-agent-bench.ts';
import { startRouterExporter } from '../support/child.ts';
import { createStoreFolder } from '../support/store-folder.ts';
import { runCommand } from './run-command.ts';

/** Goes back to the first line of the status, and erases the rest of the screen. */
const erase = (lines: number) => `\u001b[${lines}F\u001b[J`;

test('findDemoPace polls a few routers at the default interval, and thousands as often as one machine carries', () => {
  expect(findDemoPace(8)).toEqual({ intervalS: 60, modules: undefined, runsMax: 8 });
  const { intervalS, modules, runsMax } = findDemoPace(10_000);
  expect(intervalS).toBe(400);
  expect(modules).toContain('modem');
  // All at once, none of them would be done in time.
  expect(runsMax).toBe(32);
});

test('demo on a terminal shows the state of the fleet, cut to its width, and records only with --records', async () => {
  const args = ['demo', '--for', '4s', '--routers', '1', '--web.listen-address', '127.0.0.1:0'];
  const [live, records] = await Promise.all([
    runCommand(args, { isShown: true, isTerminal: true, columns: 60 }),
    runCommand([...args, '--records'], { isShown: true, isTerminal: true, columns: 60 }),
  ]);
  expect(live.stdout).toMatch(/\n1 router: 1 up {3}1 polls {3}[\d,]+ records \([\d.]+\/s\) {3}0 gaps\n/);
  expect(live.stdout).not.toContain('"uid"');
  expect(live.stdout).toMatch(/\n {2}\d\d:\d\d:\d\d {4}The agent \S+ started\n/);
  expect(live.stdout).toMatch(/\n {2}Status page {4}http:(?:.*\n){4}Ctrl-C ends\. --records shows/);
  const lines = live.stdout.split('\n').map((line) => line.replace(/^\P{L}*F\P{L}*J/u, ''));
  expect(lines.filter((line) => line.length > 60)).toEqual([]);
  // Nothing of it is left on the screen.
  expect([7, 8, 9, 10, 11].some((shown) => live.stdout.endsWith(erase(shown)))).toBe(true);
  expect(live.stderr).toMatch(/^Summary: 1 of 1 routers up/m);
  expect(records.stdout).toMatch(/^\{.*"uid"/);
  expect(records.stderr).toContain('  Status page    http://127.0.0.1:');
});

test('demo shows the day before its start: an outage, a router that refuses its login since, one whose signal was weak', async () => {
  await using demo = startRouterExporter('demo', '--web.listen-address', '127.0.0.1:0');
  const [, url] = await demo.waitFor(
    'stderr',
    /Status page {4}(http:\S+)\n.*\n.*\n {2}History {8}what lies before the start is/,
  );
  const ask = async (path: string) => await (await fetch(`${url}${path}`)).json();
  const { routers } = (await ask('api/v1/routers')) as { routers: { name: string; availability: string }[] };
  // One letter for each twelve minutes, without those of the first polls.
  expect(routers.map(({ availability }) => availability.slice(0, -2))).toEqual([
    expect.stringMatching(/^u{118}$/),
    expect.stringMatching(/^u+m?d{10,12}$/),
    expect.stringMatching(/^u{118}$/),
    expect.stringMatching(/^u+m?d{2,3}m?u{27,29}$/),
    ...Array.from({ length: 3 }, () => expect.stringMatching(/^u{118}$/)),
    expect.stringMatching(/^u+m?d{2,3}m?u{27,29}$/),
  ]);
  const { events } = (await ask('api/v1/events')) as { events: { router: string; kind: string; at: string }[] };
  const kinds = events.map(({ router, kind }) => `${router} ${kind}`).toReversed();
  expect(kinds.slice(0, 7).toSorted()).toEqual([
    'sim-2 router.down',
    ...['sim-4', 'sim-8'].flatMap((name) => ['boot', 'down', 'up'].map((kind) => `${name} router.${kind}`)),
  ]);
  // The refused router lists no logs, and has none of the simulated past.
  const { logs } = (await ask('api/v1/logs')) as { logs: { component: string }[] };
  expect(logs.filter(({ component }) => component === '')).toEqual([]);
  const { lastHours } = (await ask('api/v1/routers/sim-5')) as RouterAnswer;
  const mean = (points: RouterAnswer['lastHours']) =>
    points.reduce((sum, { signal }) => sum + (signal ?? Number.NaN), 0) / points.length;
  // From 15 to 9 hours before the start, in slots of three minutes.
  expect(mean(lastHours.slice(0, 150))).toBeGreaterThan(-100);
  expect(mean(lastHours.slice(185, 295))).toBeLessThan(-110);
  expect(lastHours.at(-3)).toMatchObject({
    ...{ result: 'up', signal: expect.any(Number), logLagSeconds: expect.any(Number) },
    ...{ responseSeconds: expect.any(Number), receiveBitsPerSecond: expect.any(Number) },
  });
  const readSession = async () => ((await ask('api/v1/routers/sim-3')) as RouterAnswer).session.state;
  await expect.poll(readSession, { timeout: 20_000 }).toBe('open');
  demo.process.kill();
  // Also the slow router is logged out of in time.
  expect((await demo.ended).stderr).not.toContain('shutdown');
});

test('the past of a demo ends with it, and is not made again for an agent that takes another address', async () => {
  await using folder = await createStoreFolder();
  await using demo = await startDemoRouters({ type: 'start', routers: 2, hasFaults: false });
  const routers = demo.started.routers.map(({ name, url }) => createRouterSettings(url, { name }));
  const config = { routers, storage: { path: folder.path } } as unknown as Config;
  const readPast = () => {
    using store = new EmbeddedStore({ path: folder.path, spoolBytesMax: 0, now: Date.now });
    return routers.map(({ name }) => store.readValue(name, 'history'));
  };
  const end = new AbortController();
  const ended = demo.storeHistory?.(config, end.signal);
  setImmediate(() => end.abort());
  await ended;
  const [first, second] = readPast();
  expect(second).toBeUndefined();
  await demo.storeHistory?.(config, new AbortController().signal);
  expect(readPast()).toEqual([first, undefined]);
});

test('demo-routers alone is wrong usage', async () => {
  await using program = startRouterExporter('demo-routers');
  expect(await program.ended).toMatchObject({ code: 2, stderr: expect.stringContaining('demo, which starts it') });
});

test('a demo with faults has a refused login, a slow router, and one that deletes lines before they are read', async () => {
  const clock = createSteppedClock(Date.UTC(2026, 10, 21));
  await using simulator = await startSimulator({ routers: 5, clock, seed: 1, plainHttp: true, logs: demoLogSettings });
  const end = new AbortController();
  await startDemoFaults(simulator, clock, end.signal);
  expect(simulator.routers.map(({ faults }) => faults)).toEqual([[], [], ['slow'], [], []]);
  expect([0, 1, 2, 3, 4].map((index) => renderRouterSettings(index, true))).toEqual([
    ', labels: { site: north }',
    ', labels: { site: east }, password: wrong',
    expect.stringMatching(/^, labels: { site: south }, modules/),
    ', labels: { site: west }',
    ', labels: { site: north }',
  ]);
  const upAt = async (ms: number) => {
    await clock.advance(ms);
    return simulator.routers.map(({ faults }) => !faults.includes('down'));
  };
  expect(await upAt(59_000)).not.toContain(false);
  const lines = simulator.routers[3]?.truth('network').map(({ loss }) => loss) ?? [];
  expect(lines.length).toBeGreaterThan(300);
  expect(lines.filter((loss) => loss === 'pruned').length).toBeGreaterThan(100);
  // All of one site, for two minutes.
  expect(await upAt(2000)).toEqual([false, true, true, true, false]);
  expect(await upAt(120_000)).not.toContain(false);
  const written = simulator.routers[3]?.truth('network').length ?? 0;
  end.abort();
  await clock.advance(600_000);
  expect(simulator.routers[3]?.truth('network')).toHaveLength(written);
});
