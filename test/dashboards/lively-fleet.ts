import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { equals, RouterClient } from '../../src/client/index.ts';
import type { Config } from '../../src/config/index.ts';
import type { SinkSettingsOf } from '../../src/sinks/index.ts';
import { loadShippedModules, SHIPPED_MODULES_FOLDER } from '../../src/status/index.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { createHttpSettings } from '../support/sink-settings.ts';

const MINUTE_MS = 60_000;
/** As many there and back. */
const CLOCK_JUMPS = 4;
const CLOCK_JUMP_MS = 2 * 24 * 60 * MINUTE_MS;
const BUDGET_BYTES = 50_000_000;
/** One after the other, every model of the simulator and every firmware. */
const ROUTERS = 8;
/** What happens to which router. */
const DOWN = 1;
const REFUSES_LOGIN = 2;
const FAILS_PARTLY = 3;
const OVER_BUDGET = 4;
const LOSES_LINES = 0;
const RESTARTS = 5;
const SAYS_ODD_THINGS = 6;
const IS_RESET = 7;

/** What the configuration says in turn; at first it says another one. It is read once an hour. */
const GROUPS = ['read', 'readwrite'];

/** Networks of a modem in turn. */
const OPERATORS = ['Alpha', 'Beta'];

/** Lines that the shipped log rules know. */
const TELLING_LINES = [
  'router started',
  'WAN chain wan2 is now active',
  'modem lte2 went offline',
  'tunnel openvpn1 is up',
  'login of user admin failed',
  'login of user admin succeeded',
];

/** A fleet to which everything happens that panels show: it is seen by scraping it. */
export interface LivelyFleet extends AsyncDisposable {
  readonly url: string;
  /** Its time, in milliseconds. */
  now(): number;
  /** Some more minutes of it. */
  goOn(): Promise<void>;
}

/** `more`: other receivers of its records. */
export async function startLivelyFleet(startMs?: number, more: Config['sinks'] = []): Promise<LivelyFleet> {
  await using stack = new AsyncDisposableStack();
  const sinks = [
    ...more,
    await openSink(stack, 'healthy', 204),
    await openSink(stack, 'failing', 503),
    await openSink(stack, 'refusing', 400),
  ];
  const backups = await mkdtemp(join(tmpdir(), 'router-exporter-backups-'));
  stack.defer(() => rm(backups, { recursive: true, force: true }));
  const shipped = await loadShippedModules(SHIPPED_MODULES_FOLDER);
  const cells = shipped.ok ? shipped.modules.filter(({ definition }) => definition.name === 'cells') : [];
  const fleet = stack.use(
    await startFleet({
      routers: ROUTERS,
      ...(startMs !== undefined && { startMs }),
      simulator: { logs: { maxFiles: 1, compressionMs: 250_000, showRepeats: false, severityBrackets: true } },
      router: {
        byte_budget: { perDay: BUDGET_BYTES, statusShare: 0.2 },
        poll: {
          interval: 2 * MINUTE_MS,
          timeout: 10_000,
          connect_timeout: 5000,
          deadline: 45_000,
          stale_after: 24 * 60 * MINUTE_MS,
        },
        logs: { enabled: true, interval: 2 * MINUTE_MS, start: 'all', components: ['*'] },
        expect: [{ resource: 'administration/hostnames', field: 'location', value: 'hall 4' }],
        data_plans: [{ sim: '1', limit: 2e9, billing_day: 1 }],
      },
      config: (config: Config): Config => ({
        ...config,
        // Spread over half an hour each time.
        backup: { schedule: '*/31 * * * *', path: backups, keep: 3, format: 'binary' },
        dead_letters: { ...config.dead_letters, max: 4096 },
        firmware_versions: [{ version: '99.1', date: '2026-11-01', notes: 'The newest.', severity: 'info' }],
        sinks,
        routers: config.routers.map((router, index) => ({
          ...router,
          modules: [...router.modules, ...cells.map(({ definition }) => definition)],
          labels: { site: index % 2 === 0 ? 'munich' : 'basel' },
          byte_budget: index === OVER_BUDGET ? { perDay: 40_000, statusShare: 0.2 } : router.byte_budget,
        })),
      }),
    }),
  );
  writeLines(fleet);
  await fleet.advance(33 * MINUTE_MS);
  await letThingsHappen(fleet);
  await fleet.advance(20 * MINUTE_MS);
  const owned = stack.move();
  let turns = 0;
  return {
    url: fleet.agent.urls[0] ?? '',
    now: () => fleet.clock.now(),
    async goOn() {
      writeLines(fleet);
      fleet.router(RESTARTS).restart();
      // One archive is damaged, the other is read late.
      if (turns % 4 === 1) for (const index of [SAYS_ODD_THINGS, IS_RESET]) fleet.router(index).rotate('network');
      if (turns < CLOCK_JUMPS) fleet.router(RESTARTS).jumpClock(turns % 2 === 0 ? -CLOCK_JUMP_MS : CLOCK_JUMP_MS);
      fleet
        .router(LOSES_LINES)
        .setStatus('lte2', { unique: { provider_name: OPERATORS[turns % OPERATORS.length] ?? '' } });
      await changeConfiguration(fleet, IS_RESET, GROUPS[turns++ % GROUPS.length] ?? '', true);
      await fleet.advance(2 * MINUTE_MS);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** A sink whose server answers everything with `status`. */
async function openSink(stack: AsyncDisposableStack, name: string, status: number): Promise<SinkSettingsOf<'http'>> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(status).end());
  });
  stack.defer(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return createHttpSettings(name, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

function writeLines(fleet: Fleet): void {
  for (let index = 0; index < ROUTERS; index++) {
    for (const text of TELLING_LINES) fleet.router(index).appendLog('network', text);
    fleet.router(index).appendLog('network', 'wan1: no carrier', 'wan', 'ERR');
  }
}

async function letThingsHappen(fleet: Fleet): Promise<void> {
  const router = (index: number) => fleet.router(index);
  for (const text of ['again', 'again', 'again', 'something else']) router(LOSES_LINES).appendLog('system', text);
  // More rotations than the router keeps files, before anybody looks.
  for (const text of ['a', 'b', 'c']) {
    router(LOSES_LINES).appendLog('network', `only before rotation ${text}`);
    router(LOSES_LINES).rotate('network');
    await router(LOSES_LINES).advanceClock(1000);
  }
  await changeConfiguration(fleet, LOSES_LINES, 'read', false);
  await router(IS_RESET).factoryReset();
  router(IS_RESET).appendLog('network', 'the first line after the reset');
  router(SAYS_ODD_THINGS).setStatus('lte2', { unique: { RSSI: 'very strong', temperature: 'hot' } });
  await router(SAYS_ODD_THINGS).fault('corrupt_archive');
  await router(DOWN).fault('down');
  router(REFUSES_LOGIN).expireTokens();
  await router(REFUSES_LOGIN).fault('unauthorized');
  await router(FAILS_PARTLY).fault('http_500', { path: '/status/sysstat/wan' });
  await router(FAILS_PARTLY).fault('garbage_json', { path: '/profiles' });
}

/** A change in a list of the configuration; without `activate` it is only stored. */
async function changeConfiguration(fleet: Fleet, index: number, group: string, activate: boolean): Promise<void> {
  await using admin = new RouterClient({
    url: fleet.router(index).url,
    username: 'admin',
    password: 'simulated',
    tls: { caPem: fleet.simulator.caPem },
    clock: fleet.clock,
  });
  const { list } = await admin.configuration.read('administration/users', { filter: [equals('username', 'status')] });
  const entry = { list_uid: list[0]?.uid ?? '', parameters: { group } };
  await admin.configuration.changeEntries('administration/users', [entry], { activate });
}
