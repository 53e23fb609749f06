import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { findNoDiskReason, openSmallDisk } from '../support/small-disk.ts';

const MIB = 1024 ** 2;
const MINUTE_MS = 60_000;
const noDisk = findNoDiskReason();
const LOGS = { enabled: true, interval: MINUTE_MS, start: 'all', components: ['network'] } as const;

const ask = async (fleet: Fleet, path: string, method = 'GET') => {
  const answer = await fetch(`${fleet.agent.urls[0]}${path}`, { method });
  return [answer.status, await answer.text()] as const;
};

async function expectToRunWithoutLogs(fleet: Fleet): Promise<void> {
  const [status, reason] = await ask(fleet, '/-/ready');
  expect(status).toBe(503);
  expect(reason).toContain('The state cannot be written, so no logs are read');
  expect(await ask(fleet, '/-/healthy')).toEqual([200, 'Healthy.\n']);
  const metrics = await fleet.metrics();
  expect(metrics).toMatch(/^router_up\{router="sim-1"\} 1$/m);
  expect(metrics).toMatch(/^router_exporter_spool_held_back 1$/m);
  expect((await ask(fleet, '/'))[1]).toContain('Log reading is paused');
  expect(await ask(fleet, '/sinks')).toEqual([200, expect.any(String)]);
  expect(fleet.records).toEqual([]);
}

test('an agent whose disk cannot be written at the start runs without logs, and reads them as soon as it can', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'router-exporter-test-'));
  // A link to nowhere: neither the folder nor a file in it can be created.
  const path = join(folder, 'state');
  await symlink(join(folder, 'disk'), path);
  try {
    await using fleet = await startFleet({
      router: { logs: LOGS },
      config: (config) => ({ ...config, storage: { ...config.storage, path } }),
    });
    fleet.router().appendLog('network', 'before');
    await fleet.advance(10 * MINUTE_MS);
    await expectToRunWithoutLogs(fleet);
    const lines = fleet.ownLog.filter(({ level }) => level === 'warn' || level === 'error');
    expect(lines.map(({ message }) => message)).toEqual(['The state cannot be written; no logs are read until it can']);
    // A new configuration could not be stored.
    expect(await fleet.reload((config) => config)).toMatchObject({ ok: false });

    await mkdir(join(folder, 'disk'));
    await fleet.advance(5 * MINUTE_MS);
    expect(await ask(fleet, '/-/ready')).toEqual([200, 'Ready.\n']);
    expect(fleet.records.map(({ message }) => message)).toEqual(['before']);
    expect(await fleet.metrics('/metrics/agent')).toMatch(/^router_exporter_spool_held_back 0$/m);
    expect(await fleet.reload((config) => config)).toEqual({ ok: true });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test('an agent on a full disk runs without logs, and delivers what waits and reads on when there is room', async (context) => {
  context.skip(noDisk !== undefined, noDisk);
  await using disk = await openSmallDisk(64 * MIB);
  await using fleet = await startFleet({
    router: { logs: LOGS },
    config: (config) => ({ ...config, storage: { ...config.storage, path: disk.path } }),
  });
  await fleet.advance(MINUTE_MS);
  await fleet.stopAgent();
  const filler = join(disk.path, 'something else');
  await writeFile(filler, Buffer.alloc(58 * MIB));
  await fleet.startAgent();
  fleet.router().appendLog('network', 'meanwhile');
  await fleet.advance(5 * MINUTE_MS);
  await expectToRunWithoutLogs(fleet);

  await rm(filler);
  await fleet.advance(5 * MINUTE_MS);
  expect(await ask(fleet, '/-/ready')).toEqual([200, 'Ready.\n']);
  expect(fleet.records.map(({ message }) => message)).toEqual(['meanwhile']);
});

test('an agent can be stopped while its disk cannot be written', async () => {
  await using fleet = await startFleet({
    config: (config) => ({ ...config, storage: { ...config.storage, path: '/proc/none/state' } }),
  });
  await fleet.advance(5 * MINUTE_MS);
  await expectToRunWithoutLogs(fleet);
  await fleet.stopAgent();
  expect(fleet.ownLog.filter(({ message }) => message === 'A shutdown step failed')).toEqual([]);
});
