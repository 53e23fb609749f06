import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BackupEvent, type BackupFormat, backUpOnce, ProfileArchive } from '../../src/backup/index.ts';
import { createSteppedClock } from '../../src/base/index.ts';
import { RouterClient } from '../../src/client/index.ts';
import { type Simulator, startSimulator } from '../../src/simulator/index.ts';
import { START_MS } from './archive-bench.ts';

const clock = createSteppedClock(START_MS);
const HOSTNAMES = 'administration/hostnames';
const [RUNNING, SPARE] = ['Profile', 'quick_start_profile'];
let simulator: Simulator;
let client: RouterClient;
let folder: string;
let archives = 0;

beforeAll(async () => {
  simulator = await startSimulator({ routers: 1, clock, seed: 3 });
  folder = await mkdtemp(join(tmpdir(), 'router-exporter-backup-'));
  client = connect('admin');
});
afterAll(async () => {
  await client.close(AbortSignal.abort()).catch(() => {});
  await simulator.close();
  await rm(folder, { recursive: true, force: true });
});

function connect(username: string): RouterClient {
  const url = simulator.routers[0]?.url ?? '';
  return new RouterClient({ url, username, password: 'simulated', tls: { caPem: simulator.caPem }, clock });
}

const openArchive = () => new ProfileArchive({ path: join(folder, String(archives++)), keep: 3, clock });

async function backUp(archive: ProfileArchive, format: BackupFormat, source: RouterClient = client) {
  const events: BackupEvent[] = [];
  const options = {
    router: 'sim-1',
    source,
    archive,
    format,
    reason: 'schedule',
    report: (event: BackupEvent) => void events.push(event),
  } as const;
  const result = await backUpOnce(options, new AbortController().signal);
  return { result, events };
}

describe('a backup of a simulated router', () => {
  test('keeps the readable form of its profiles, and a version more when one was changed', async () => {
    const archive = openArchive();
    expect((await backUp(archive, 'ascii')).result).toEqual({ kept: 2, unchanged: 0, failed: 0 });
    expect((await backUp(archive, 'ascii')).result).toEqual({ kept: 0, unchanged: 2, failed: 0 });
    await client.configuration.changeParameters(HOSTNAMES, { location: 'Kläranlage Süd' });
    const { result, events } = await backUp(archive, 'ascii');
    expect(result).toEqual({ kept: 1, unchanged: 1, failed: 0 });
    expect(events[0]).toMatchObject({ type: 'profile-kept', profile: RUNNING });
    const [newest, older] = await archive.listVersions('sim-1', RUNNING);
    const read = async (version: typeof newest) =>
      version ? (await archive.readVersion('sim-1', RUNNING, version)).toString() : 'none';
    expect(await read(newest)).toContain('administration.hostnames.location="Kläranlage Süd"\n');
    expect(await read(older)).toContain('administration.hostnames.location="Munich"\n');
  });

  test('keeps the binary form once, although each download is an archive with another time in it', async () => {
    const archive = openArchive();
    expect((await backUp(archive, 'binary')).result).toEqual({ kept: 2, unchanged: 0, failed: 0 });
    await clock.advance(86_400_000);
    expect((await backUp(archive, 'binary')).result).toEqual({ kept: 0, unchanged: 2, failed: 0 });
    await client.configuration.changeParameters(HOSTNAMES, { location: 'elsewhere' }, { profile: SPARE });
    expect((await backUp(archive, 'binary')).result).toEqual({ kept: 1, unchanged: 1, failed: 0 });
    expect(await archive.listVersions('sim-1', SPARE)).toHaveLength(2);
  });

  test('rejects when the account may not see the profiles', async () => {
    await using status = connect('status');
    await expect(backUp(openArchive(), 'ascii', status)).rejects.toMatchObject({ code: 'auth', status: 403 });
  });

  test('does not keep a download that was cut off', async () => {
    const archive = openArchive();
    await backUp(archive, 'ascii');
    await client.configuration.changeParameters(HOSTNAMES, { location: 'cut' });
    const router = simulator.routers[0];
    await router?.fault('truncate_body', { path: '/download/profiles' });
    await expect(backUp(archive, 'ascii')).rejects.toMatchObject({ name: 'RouterError' });
    await router?.clearFault();
    expect(await archive.listVersions('sim-1', RUNNING)).toHaveLength(1);
    expect((await backUp(archive, 'ascii')).result).toEqual({ kept: 1, unchanged: 1, failed: 0 });
  });
});
