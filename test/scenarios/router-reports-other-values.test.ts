import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { runCommand } from '../cli/run-command.ts';
import { startFleet } from '../support/fleet.ts';

const MINUTE_MS = 60_000;

test('a change of the operator, and one of the SIM card while the agent was down, are counted once', async () => {
  await using fleet = await startFleet();
  const changes = async () =>
    Object.fromEntries(
      [...(await fleet.metrics()).matchAll(/^router_device_changes_total\{.*fact="(\w+)"\} (\d+)$/gm)].map(
        ([, kind = '', count]) => [kind, Number(count)],
      ),
    );
  const report = (fields: Readonly<Record<string, string>>) => fleet.router().setStatus('lte2', { unique: fields });
  report({ provider_name: 'Alpha', used_sim: 'SIM 1', used_net: 'LTE' });
  await fleet.advance(5 * MINUTE_MS);
  expect(await changes()).toEqual({ serial: 0, sim: 0, operator: 0, access_technology: 0 });
  report({ provider_name: 'Beta', used_sim: 'SIM 1', used_net: 'LTE' });
  await fleet.advance(5 * MINUTE_MS);
  expect(await changes()).toEqual({ serial: 0, sim: 0, operator: 1, access_technology: 0 });

  await fleet.stopAgent();
  report({ provider_name: 'Beta', used_sim: 'SIM 2', used_net: 'LTE' });
  await fleet.startAgent();
  await fleet.advance(5 * MINUTE_MS);
  expect(await changes()).toEqual({ serial: 0, sim: 1, operator: 0, access_technology: 0 });
});

test('a reload compares the firmware of routers with other versions without a new session', async () => {
  await using fleet = await startFleet();
  fleet.router().setStatus('device_info', { list: [{ firmware_version: '9.5', serial_number: '7' }] });
  const behind = async () => /^router_firmware_newer_versions.*$/m.exec(await fleet.metrics())?.[0];
  await fleet.advance(5 * MINUTE_MS);
  expect(await behind()).toBeUndefined();
  const version = { version: '9.10', date: '2026-01-31', notes: 'Fixes "it".', severity: 'warning' } as const;
  await fleet.reload((config) => ({ ...config, firmware_versions: [version] }));
  expect(await behind()).toBe(
    'router_firmware_newer_versions{router="sim-1",newest_version="9.10",severity="warning"} 1',
  );
  expect(await fleet.metrics()).toContain(
    'router_exporter_firmware_version_info{version="9.10",severity="warning",date="2026-01-31",notes="Fixes \\"it\\"."} 1',
  );
  expect(fleet.router().counters.logins).toBe(1);
});

test('the agent reads the file of versions, and the modules for cells, firmware and containers', async () => {
  await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 7, plainHttp: true });
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-versions-'));
  const file = join(folder.path, 'router-exporter.yaml');
  const [router] = simulator.routers;
  router?.setStatus('lte2', { unique: { cell_id: '1A2B', location_id: '15F5', pin_state: 'PIN ok' } });
  router?.setStatus('hspa2', { unique: { state: 'Online', provider_name: 'Alpha', cell_id: '77' } });
  await writeFile(join(folder.path, 'versions.yaml'), 'versions: [{ version: "9.5" }, { version: "99.10" }]\n');
  await writeFile(
    file,
    `firmware_version_files: [versions.yaml]
defaults: { username: monitor, password: simulated, modules: [default, cells, firmware, containers] }
routers: [{ name: sim-1, url: "${router?.url}" }]
`,
  );
  const { code, stdout } = await runCommand(['run', '--once', '--config.file', file, '--storage.path', folder.path]);
  expect(code).toBe(0);
  const lines = stdout.split('\n');
  for (const line of [
    'router_firmware_newer_versions{router="sim-1",newest_version="99.10",severity="info"} 1',
    'router_modem_cell_info{router="sim-1",modem="lte2",cell_id="1A2B",location_id="15F5"} 1',
    'router_modem_pin_state_info{router="sim-1",modem="lte2",pin_state="PIN ok"} 1',
    'router_modem_online{router="sim-1",modem="hspa2"} 1',
    'router_modem_cell_info{router="sim-1",modem="hspa2",cell_id="77"} 1',
    'router_device_changes_total{router="sim-1",fact="cell"} 0',
    'router_firmware_file_active{router="sim-1",firmware="9.5",type="icom_os"} 1',
    'router_containers{router="sim-1"} 1',
    'router_container_info{router="sim-1",container="container_94f31acd"} 1',
  ])
    expect(lines).toContain(line);
});
