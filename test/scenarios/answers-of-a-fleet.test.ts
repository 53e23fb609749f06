import { expect, test } from 'vitest';
import { type Fleet, startFleet } from '../support/fleet.ts';

const MINUTE_MS = 60_000;

/** A family of the process itself, whose values are unpredictable. */
const OF_THE_PROCESS = /^(# \w+ )?(process_|nodejs_|router_exporter_(build_info|event_loop_|runs|connections))/;

/** Three routers of different models that have been polled for minutes: one has rotated a log and lost its link, one is down. */
async function startKnownFleet(): Promise<Fleet> {
  const fleet = await startFleet({ routers: 3, simulator: { logs: { compressionMs: 0 } } });
  for (const index of [0, 1, 2]) {
    fleet.router(index).appendLog('network', `lte2: online, router ${index}`);
    fleet.router(index).appendLog('system', 'disk check passed');
  }
  await fleet.advance(2 * MINUTE_MS);
  fleet.router(0).rotate('network', 'lte2: offline');
  await fleet.router(1).fault('down');
  await fleet.advance(3 * MINUTE_MS);
  return fleet;
}

/** Replaces what differs from run to run: ports, folders, lengths of TLS records, and the hash of a configuration that names certificates. */
function withoutChance(text: string): string {
  return text
    .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:PORT')
    .replaceAll(/\b[0-9a-f]{32}\b/g, 'HASH')
    .replaceAll(/^(router_config_hash\{.*\}) \S+$/gm, '$1 HASH')
    .replaceAll(/"value": ?\d{12,15}\b/g, '"value":"HASH"')
    .replaceAll(/\/tmp\/router-exporter-test-\w+/g, 'FOLDER')
    .replaceAll(/^(router_\w*(?:api|sink)\w*_bytes\w*(?:\{.*\})?) \S+$/gm, '$1 N')
    .replaceAll(/"(\w*[bB]ytes\w*|sent|received|usedToday|pid|fingerprint\w*)": ?("[^"]*"|[\d.]+)/g, '"$1":"N"')
    .replaceAll(/"(agent|status)": ?\d+/g, '"$1":"N"');
}

async function read(fleet: Fleet, path: string): Promise<string> {
  return withoutChance(await fleet.metrics(path));
}

/** Of a day of history, its last points. */
const withoutMost = (key: string, value: unknown) =>
  key === 'lastHours' && Array.isArray(value) ? value.slice(-4) : value;

async function readJson(fleet: Fleet, path: string): Promise<string> {
  return `${JSON.stringify(JSON.parse(await read(fleet, path), withoutMost), null, 2)}\n`;
}

test('the answers for programs about a fleet whose clock is stepped are those of the golden files', async () => {
  await using fleet = await startKnownFleet();

  const metrics = (await read(fleet, '/metrics')).split('\n').filter((line) => !OF_THE_PROCESS.test(line));
  const goldens: Readonly<Record<string, string>> = {
    'metrics.prom': metrics.join('\n'),
    'config.txt': /<main.*<\/main>/s.exec(await read(fleet, '/config'))?.[0] ?? '',
    'sd.json': await readJson(fleet, '/sd'),
    'routers.json': await readJson(fleet, '/api/v1/routers'),
    'router-1.json': await readJson(fleet, '/api/v1/routers/sim-1'),
    'router-2.json': await readJson(fleet, '/api/v1/routers/sim-2'),
    'records.json': await readJson(fleet, '/api/v1/records'),
    'logs.json': await readJson(fleet, '/api/v1/logs'),
    'sinks.json': await readJson(fleet, '/api/v1/sinks'),
  };
  for (const [name, text] of Object.entries(goldens)) {
    await expect(text, name).toMatchFileSnapshot(`../golden/agent/${name}`);
  }
});
