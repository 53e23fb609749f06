/**
 * Measures the pages of a large fleet: the time to the last byte over loopback, and the longest processor time for which the
 * event loop did nothing else. Processor time is that of the main thread, so that other work on the machine counts little.
 *
 *   npx node bench/pages.ts [routers]
 *
 * Takes about half a minute. Prints Markdown for RESULTS.md. The statistics are those of the agent, fed with the results
 * of polls; one in a hundred routers is down, or 60 % in the last rows.
 */
import { once } from 'node:events';
import { get } from 'node:http';
import { cpus } from 'node:os';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { RouterRecorder } from '../src/agent/router-state/router-recorder.ts';
import { Fleet } from '../src/agent/routers/fleet.ts';
import type { RouterAgent } from '../src/agent/routers/router-agent.ts';
import { FleetHistory } from '../src/agent/views/fleet-history.ts';
import { createWebContent } from '../src/agent/web-content.ts';
import { createSystemClock, type Logger } from '../src/base/index.ts';
import { RouterError } from '../src/client/index.ts';
import { FleetExposition } from '../src/exposition/index.ts';
import type { MetricFamily } from '../src/model/index.ts';
import { SharedBudget } from '../src/schedule/index.ts';
import type { PollResult, ResourceResult } from '../src/status/index.ts';
import { openWebServer } from '../src/web/index.ts';
import { createRouterSettings } from '../test/support/router-settings.ts';

const ROUTERS = Number(process.argv[2] ?? 10_000);
const ROUNDS = 15;
const LOGS = ['network', 'system', 'vpn', 'sdkhost'];
const OPERATORS = ['Telekom.de', 'Vodafone.de', 'o2 - de', 'A1', 'Swisscom'];
const LOGGER: Logger = { debug() {}, info() {}, warn() {}, error() {} };

const clock = createSystemClock();
const exposition = new FleetExposition();

function toFamily(
  name: string,
  samples: readonly (readonly [Readonly<Record<string, string>>, number])[],
): MetricFamily {
  return { name, help: 'A family.', type: 'gauge', samples: samples.map(([labels, value]) => ({ labels, value })) };
}

/** What a router with a modem, five interfaces and a WAN chain answers. */
function createResources(index: number): ResourceResult[] {
  const modem = { modem: 'lte2' };
  const interfaces = ['net1', 'net2', 'lte2', 'openvpn1', 'ipsec1'].map(
    (name) => [{ interface: name }, index] as const,
  );
  const resources: Readonly<Record<string, readonly MetricFamily[]>> = {
    device_info: [
      toFamily('router_board_info', [
        [{ slot: '1', board_type: 'M3CPU', firmware_version: '9.5', serial_number: `${index}` }, 1],
      ]),
      toFamily('router_device_info', [[{ device_type: index % 4 === 0 ? 'MRX5' : 'MRX3' }, 1]]),
    ],
    lte2: [
      toFamily('router_modem_info', [[{ ...modem, provider_name: OPERATORS[index % 5] ?? '' }, 1]]),
      toFamily('router_modem_access_technology', [[{ ...modem, access_technology: 'LTE' }, 1]]),
      toFamily('router_modem_online', [[modem, 1]]),
      toFamily('router_modem_rsrp_dbm', [[modem, -80 - (index % 40)]]),
      toFamily('router_modem_rsrq_db', [[modem, -11]]),
      toFamily('router_modem_sinr_db', [[modem, 13]]),
    ],
    'sysstat/wan': [toFamily('router_wan_active_info', [[{ chain: `wan${1 + (index % 2)}` }, 1]])],
    'sysdetail/system': [
      toFamily('router_uptime_seconds', [[{}, index * 100]]),
      toFamily('router_location_info', [[{ location: `Hall ${index % 300}` }, 1]]),
    ],
    'sysdetail/ip_addresses': ['receive', 'transmit'].map((way) =>
      toFamily(`router_interface_${way}_bytes_total`, interfaces),
    ),
  };
  return Object.entries(resources).map(([name, families]) => ({
    name,
    modules: ['default'],
    state: 'read',
    isUnchanged: false,
    families,
    faults: [],
    isUnread: false,
    durationMs: 200,
    readAtMs: clock.monotonic(),
    staleAfterMs: 600_000,
    isOptional: false,
    error: undefined,
  }));
}

const GONE = new RouterError('connect', 'Could not open a connection within 5 s', { disposition: 'retry' });

function createPoll(index: number, isUp: boolean): PollResult {
  const resources = createResources(index);
  const failed = resources
    .slice(0, 1)
    .map((resource) => ({ ...resource, state: 'failed' as const, families: [], error: GONE }));
  return {
    isUp,
    isIdle: false,
    failure: isUp ? undefined : 'connect',
    error: isUp ? undefined : GONE,
    durationMs: 400,
    resources: isUp ? resources : failed,
    withdrawn: [],
    lacks: [],
    firmwareVersion: index % 5 === 0 ? '9.4' : '9.5',
    serialNumber: String(index),
    configHash: undefined,
  };
}

function createRecorder(index: number): RouterRecorder {
  const settings = createRouterSettings(`https://10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`, {
    name: `plant-${String(index).padStart(5, '0')}`,
    labels: { site: `site-${index % 200}`, region: `region-${index % 12}`, line: String(index % 9) },
  });
  const budget = new SharedBudget({ bytesPerDay: 0, statusShare: 0.2, clock });
  const recorder = new RouterRecorder({
    settings,
    ruleFamilies: new Map(),
    exposition,
    logger: LOGGER,
    clock,
    lifecycle: () => ({ state: 'active', untilMs: undefined, setBy: 'default', pause: undefined }),
    bytes: () => ({ sent: 100_000, received: 900_000, budget }),
    account: { today: '2026-11-21', days: [], polls: [], sumSince: () => 0, estimateMonth: () => null },
    pace: () => ({ level: 'usual', responseSeconds: 0.2, isSignalPoor: false, stretch: 1, statusStretch: 1 }),
    certificate: () => undefined,
  });
  recordPoll(recorder, index, true);
  for (const component of LOGS) recorder.record({ type: 'log-caught-up', component, isWaitingForLineEnd: false });
  return recorder;
}

function recordPoll(recorder: RouterRecorder | undefined, index: number, isUp: boolean): void {
  recorder?.record({
    type: 'polled',
    result: createPoll(index, isUp),
    wire: { isTls: true, sent: 1, received: Number(isUp) },
    isPutOff: false,
    isWhole: true,
    quietMs: 3_600_000,
    certificateNotAfterMs: undefined,
  });
}

interface Timing {
  readonly ms: number;
  readonly heldMs: number;
  /** Processor time of this process, the client and the watch over the loop included. */
  readonly cpuMs: number;
  readonly bytes: number;
}

/** Asks once, and watches how long the loop is held meanwhile. */
async function ask(url: string): Promise<Timing> {
  const done = new AbortController();
  let heldMs = 0;
  const watch = (async () => {
    while (!done.signal.aborted) {
      const before = process.threadCpuUsage();
      await setImmediate();
      const { user, system } = process.threadCpuUsage(before);
      heldMs = Math.max(heldMs, (user + system) / 1000);
    }
  })();
  const cpuBefore = process.cpuUsage();
  const beganMs = performance.now();
  const [response] = await once(get(url, { agent: false, headers: { 'accept-encoding': 'gzip' } }), 'response');
  let bytes = 0;
  if (response.statusCode !== 200) throw new RangeError(`${url} answered with ${response.statusCode}`);
  for await (const chunk of response) bytes += chunk.length;
  const ms = performance.now() - beganMs;
  const { user, system } = process.cpuUsage(cpuBefore);
  const cpuMs = (user + system) / 1000;
  done.abort();
  await watch;
  return { ms, heldMs, cpuMs, bytes };
}

const all = Array.from({ length: ROUTERS }, (_, index) => createRecorder(index));
const agents = all.map(
  (recorder) => ({ recorder, settings: { ...recorder.summarize(), modules: [] } }) as unknown as RouterAgent,
);
const byName = new Map(agents.map((agent) => [agent.settings.name, agent]));
// A fleet without activities: nothing is polled while pages are measured.
const fleet = {
  routers: agents,
  find: (name: string) => byName.get(name),
} as unknown as Fleet;
const history = new FleetHistory(clock, () => Fleet.prototype.countForPages.call(fleet));
const server = await openWebServer({
  addresses: [{ host: '127.0.0.1', port: 0 }],
  clock,
  isLifecycleEnabled: false,
  onFailed: (cause) => {
    throw cause;
  },
});
const content = createWebContent({
  fleet,
  history,
  exposition,
  clock,
  sinks: { describe: () => [] },
  events: { events: [] },
  counts: { gaps: 0 },
  scheduler: { load: { running: 0, waiting: 0, heldBack: 0, max: 512 } },
  recent: { read: async () => ({ records: [], next: null, searchedTo: null, fault: null }) },
  describeShards: () => undefined,
  describeConfiguration: () => ({ loadedAt: '', lastReload: null, pending: null, warnings: [], sources: [] }),
  describeSpool: () => ({ records: 0, bytes: 0, bytesMax: 1, isHeldBack: false, routersHeldBack: [] }),
  config: () => ({ web: {} }),
  findUnreadiness: () => undefined,
  onFailed: (cause: unknown) => {
    throw cause;
  },
} as never);
server.serve({ ...content, describeOpenAccess: () => undefined, renderConfig: () => '', renderRouterConfig: () => '' });

const name = 'plant-00042';
const PATHS = [
  '/',
  '/?sort=-bytes&page=50',
  '/?q=hall+42+telekom',
  '/?label=site%3Dsite-7&firmware=9.5&model=MRX3',
  `/router/${name}`,
  '/logs/positions',
  '/sinks',
  '/config',
  '/sd',
  '/api/v1/routers',
];

async function measure(title: string, paths: readonly string[], base = server.urls[0]): Promise<void> {
  for (const path of paths) {
    await ask(base + path);
    const rounds: Timing[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      rounds.push(await ask(base + path));
      await setTimeout(20);
    }
    const sorted = (key: keyof Timing) => rounds.map((one) => one[key]).toSorted((a, b) => a - b);
    const [times, holds, cpu] = [sorted('ms'), sorted('heldMs'), sorted('cpuMs')];
    const middle = Math.floor(ROUNDS / 2);
    const cells = [times[middle], times.at(-1), holds[middle], holds.at(-1), cpu[middle]].map(
      (value) => `${(value ?? 0).toFixed(1)} ms`,
    );
    process.stdout.write(
      `| \`${path}\`${title} | ${cells.join(' | ')} | ${Math.round((rounds[0]?.bytes ?? 0) / 1024)} KiB |\n`,
    );
  }
}

process.stdout.write(`${ROUTERS} routers, ${cpus()[0]?.model}, Node.js ${process.version}\n\n`);
process.stdout.write(
  '| Page | median | longest | loop held, median | loop held, longest | processor time, median | size |\n|---|---|---|---|---|---|---|\n',
);
for (let index = 0; index < ROUTERS; index += 100) recordPoll(all[index], index, false);
await measure('', PATHS);
for (let index = 0; index < ROUTERS * 0.6; index++) recordPoll(all[index], index, false);
await measure(', 60 % down', ['/', '/?state=down&step=connect']);

// Another process of the fleet, which has no router of its own and asks this one for all of them. Its answers are older than
// five seconds each time; both are measured together.
const others = new Map(
  all
    .map((recorder) => recorder.summarize())
    .map(({ name: one, url, labels }) => [one, { name: one, url, labels, shard: 0 }]),
);
const second = await openWebServer({
  addresses: [{ host: '127.0.0.1', port: 0 }],
  clock: { ...clock, monotonic: () => clock.monotonic() * 1000 },
  isLifecycleEnabled: false,
  onFailed: (cause) => {
    throw cause;
  },
});
const shards = { index: 1, total: 2, peers: [server.urls[0], second.urls[0]], others };
second.serve({
  ...content,
  describeOpenAccess: () => undefined,
  hasRouter: () => false,
  listRouters: () => [],
  findRouter: () => undefined,
  listLogs: () => [],
  describeShards: () => shards,
});
await measure(', asked of another process', ['/', '/logs', '/logs/positions', '/sinks'], second.urls[0]);
for (const recorder of all) recorder.close();
await second.close();
await server.close();
