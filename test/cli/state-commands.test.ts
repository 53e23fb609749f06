import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openNatsServer } from '../support/sinks/nats-server.ts';
import { commitOf, createStoreFolder, drain, type StoreFolder } from '../support/store-folder.ts';
import { withPrograms } from '../support/tools.ts';
import { runCommand } from './run-command.ts';

const ROUTERS = ['hall-1', 'plant-7', 'plant-8'];

/** Each router leaves a position, a record that no sink has, and a dead letter. */
function fill(folder: StoreFolder): void {
  using store = folder.open();
  for (const router of ROUTERS) store.commit(commitOf([`of ${router}`], `at ${router}`, 'network', router));
  using deadLetters = folder.openDeadLetters();
  for (const router of ROUTERS) {
    deadLetters.add('a', [{ uid: router, line: JSON.stringify({ router, uid: router }), reason: 'no such field' }]);
  }
}

/** Names of the routers of which a folder has positions, waiting records and dead letters. */
function listLeft(folder: StoreFolder) {
  using store = folder.open();
  using deadLetters = folder.openDeadLetters();
  return {
    positions: ROUTERS.filter((router) => store.readPositions(router).get('network') === `at ${router}`),
    records: drain(store, 'a').map((line) => line.replace('of ', '')),
    deadLetters: deadLetters
      .list({ limit: 9, order: 'oldest' })
      .map(({ router }) => router)
      .toSorted(),
  };
}

const only = (...routers: string[]) => ({ positions: routers, records: routers, deadLetters: routers });

async function done(...args: string[]): Promise<string> {
  const end = await runCommand(['state', ...args]);
  expect(end, end.stderr).toMatchObject({ code: 0 });
  return end.stdout;
}

/** Writes a configuration with the sink of the records, and returns the flags that name it. */
async function configure(folder: string, cluster = ''): Promise<readonly string[]> {
  const file = join(folder, 'router-exporter.yaml');
  const sinks = 'sinks: [{ name: a, type: http, url: "http://192.0.2.1" }]';
  await writeFile(file, `${cluster}\nrouters: [{ name: hall-1, url: "http://192.0.2.1", auth: none }]\n${sinks}\n`);
  return ['--config.file', file];
}

test('state export and state import move the routers that --routers names, from a disk to a disk, and leave the others', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-state-'));
  await using from = await createStoreFolder();
  await using to = await createStoreFolder();
  fill(from);
  const config = await configure(folder.path);
  const [all, some] = [join(folder.path, 'all.db'), join(folder.path, 'some.db')];
  const [source, target] = [
    ['--storage.path', from.path],
    ['--storage.path', to.path],
  ];
  await done('export', ...config, ...source, '--output', all);
  const globs = ['--routers', '*', '--routers', '!plant-8', '--routers', '!hall-*'];
  const one = '1 router, 1 log position, 1 undelivered record, 1 dead letter\n';
  expect(await done('export', ...config, ...source, ...globs, '--remove', '--output', some)).toBe(
    `Moved to ${some}: ${one}`,
  );
  expect(listLeft(from)).toEqual(only('hall-1', 'plant-8'));
  await done('import', ...config, ...target, some);
  expect(await done('import', ...config, ...target, '--routers', 'hall-?', all)).toBe(`Added from ${all}: ${one}`);
  const again = await runCommand(['state', 'import', ...config, ...target, '--routers', 'plant-7', some]);
  expect(again.stderr).toBe(`Already imported, unchanged: 1 router of ${some}\n`);
  const elsewhere = join(folder.path, 'elsewhere');
  const none = await runCommand([
    'state',
    'export',
    ...config,
    '--storage.path',
    elsewhere,
    '--output',
    join(folder.path, 'none.db'),
  ]);
  expect(none.stderr).toContain('or name the folder with --storage.path');
  // In the order of their arrival.
  expect(listLeft(to)).toEqual({ ...only('hall-1', 'plant-7'), records: ['plant-7', 'hall-1'] });
});

withPrograms(['nats-server'], test)(
  'state import and state export move the routers that --routers names, into a cluster and out of it, and leave the others',
  async () => {
    await using server = await openNatsServer();
    await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-state-'));
    await using from = await createStoreFolder();
    await using to = await createStoreFolder();
    await using rest = await createStoreFolder();
    fill(from);
    const config = await configure(
      folder.path,
      `cluster: { nats: { servers: ["${server.url}"], name: plant, replica: a, replicas: 1, max_bytes: 16MiB } }\ndead_letters: { max: 4MiB }`,
    );
    const init = await runCommand(['cluster', 'init', ...config]);
    expect(init, init.stderr).toMatchObject({ code: 0 });
    const files = ['all', 'back', 'rest'].map((name) => join(folder.path, `${name}.db`));
    const [all = '', back = '', left = ''] = files;
    await done('export', ...config, '--storage.path', from.path, '--output', all);
    const two = '2 routers, 2 log positions, 2 undelivered records, 2 dead letters\n';
    expect(await done('import', ...config, '--routers', 'plant-*', all)).toBe(`Added from ${all}: ${two}`);

    const one = '1 router, 1 log position, 1 undelivered record, 1 dead letter\n';
    expect(await done('export', ...config, '--routers', 'plant-8', '--remove', '--output', back)).toBe(
      `Moved to ${back}: ${one}`,
    );
    await done('import', ...config, '--storage.path', to.path, back);
    expect(listLeft(to)).toEqual(only('plant-8'));
    // What the cluster still has; the records that plant-8 has left count as a router.
    expect(await done('export', ...config, '--output', left)).toContain(
      ' 1 log position, 1 undelivered record, 1 dead letter\n',
    );
    await done('import', ...config, '--storage.path', rest.path, left);
    expect(listLeft(rest)).toEqual(only('plant-7'));
  },
);
