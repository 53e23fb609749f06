import { mkdtempDisposable, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openNatsServer } from '../support/sinks/nats-server.ts';
import { commitOf, createStoreFolder } from '../support/store-folder.ts';
import { withPrograms } from '../support/tools.ts';
import { runCommand } from './run-command.ts';

withPrograms(['nats-server'], test)(
  'every command but cluster init works with the permissions of a replica, which docs/cluster.md lists',
  async () => {
    const text = await readFile(new URL('../../docs/cluster.md', import.meta.url), 'utf8');
    const users = /authorization \{[\s\S]*?\n\}/.exec(text)?.[0] ?? '';
    const config = users.replaceAll('PASSWORD', 'secret').replaceAll('_NAME', '_plant').replaceAll('.NAME', '.plant');
    await using server = await openNatsServer({ config, admin: { user: 'admin', pass: 'secret' } });
    await using disk = await createStoreFolder();
    await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-cluster-'));
    {
      using store = disk.open();
      store.commit(commitOf(['1', '2'], 'p1'));
      using deadLetters = disk.openDeadLetters();
      deadLetters.add('a', [{ uid: '1', line: '{"router":"plant-7","uid":"1"}', reason: 'no such field' }]);
    }
    const write = async (username: string) => {
      const file = join(folder.path, `${username}.yaml`);
      await writeFile(
        file,
        `cluster: { nats: { servers: ["${server.url}"], name: plant, replica: a, replicas: 1, max_bytes: 16MiB, username: ${username}, password: secret } }
routers: [{ name: plant-7, url: "http://192.0.2.1", auth: none }]
sinks: [{ name: a, type: http, url: "http://192.0.2.1" }]
`,
      );
      return ['--config.file', file];
    };
    const [admin, replica] = [await write('admin'), await write('router-exporter')];
    const done = async (...args: string[]) => {
      const end = await runCommand(args);
      expect(end, `${args.join(' ')}: ${end.stderr}`).toMatchObject({ code: 0 });
      return end.stdout;
    };
    const early = await runCommand(['cluster', 'init', ...replica]);
    expect([early.code, early.stderr]).toEqual([1, expect.stringMatching(/permission|allow/i)]);
    await done('cluster', 'init', ...admin);
    // Nothing is missing: an account with read access may report it.
    expect(await done('cluster', 'init', ...replica)).toMatch(/(\S+ \(.*\) is there already\n){3}/);

    const moved = join(folder.path, 'moved.db');
    await done('state', 'export', ...replica, '--storage.path', disk.path, '--output', moved);
    expect(await done('state', 'import', ...replica, moved)).toContain(
      '1 router, 1 log position, 2 undelivered records, 1 dead letter\n',
    );
    const [deadLetter] = JSON.parse(await done('dead-letters', 'list', '--json', ...replica)) as {
      readonly id: number;
    }[];
    const number = String(deadLetter?.id);
    expect(await done('dead-letters', 'show', number, ...replica)).toContain('no such field');
    expect(await done('dead-letters', 'replay', '--all', ...replica)).toBe('1 dead letter will be tried again\n');
    const status = await runCommand(['cluster', 'status', ...replica]);
    // There is no member.
    expect([status.code, status.stdout]).toEqual([1, expect.stringMatching(/^REPLICA/)]);
    const back = join(folder.path, 'back.db');
    expect(await done('state', 'export', ...replica, '--remove', '--output', back)).toContain('1 dead letter\n');
    expect(JSON.parse(await done('dead-letters', 'list', '--json', ...replica))).toEqual([]);
    await done('state', 'import', ...replica, back);
    expect(await done('dead-letters', 'drop', '--yes', '--all', ...replica)).toBe('1 dead letter dropped\n');
  },
);
