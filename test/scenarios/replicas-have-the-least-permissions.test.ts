import { readFile } from 'node:fs/promises';
import { expect, test, vi } from 'vitest';
import { startRouterExporter } from '../support/child.ts';
import { expectShared, openClusterBench } from '../support/cluster-bench.ts';
import { expectReceived } from '../support/cluster-records.ts';
import { openClusterWorld } from '../support/cluster-world.ts';
import { sampled, sampleNote } from '../support/sampled.ts';
import { openNatsServer } from '../support/sinks/nats-server.ts';
import { withPrograms } from '../support/tools.ts';

const ROUTERS = 12;
const PATIENCE = { timeout: 60_000, interval: 200 };

/** Configuration of the engine with the accounts that docs/cluster.md lists. */
async function readAccounts(): Promise<string> {
  const text = await readFile(new URL('../../docs/cluster.md', import.meta.url), 'utf8');
  const [users = ''] = /authorization \{[\s\S]*?\n\}/.exec(text) ?? [];
  return users.replaceAll('PASSWORD', 'secret').replaceAll('_NAME', '_plant').replaceAll('.NAME', '.plant');
}

withPrograms(['nats-server'], test.skipIf(sampled('processes of a fleet', false, true)))(
  `agents with no more permissions than docs/cluster.md lists share routers and sinks, and the engine refuses them nothing${sampleNote('processes of a fleet')}`,
  { timeout: 180_000 },
  async () => {
    const config = await readAccounts();
    await using server = await openNatsServer({ config, admin: { user: 'admin', pass: 'secret' } });
    await using world = await openClusterWorld(ROUTERS);
    const keysOf = (name: string) => `, username: ${name === 'admin' ? name : 'router-exporter'}, password: secret`;
    await using bench = await openClusterBench({ servers: [server.url], world, keysOf, sinks: ['world', 'refusing'] });
    const [a, b] = [await bench.start('a'), await bench.start('b')];
    await expectShared([a, b], world.names);
    world.write();
    await expectReceived(world);

    // What one sink refuses for good becomes a dead letter, which is shown on any machine, and tried again by the replica that serves it.
    const deadLetters = async (...args: string[]) => {
      const end = await startRouterExporter('dead-letters', ...args, '--config.file', bench.configFile('a')).ended;
      expect(end, end.stderr).toMatchObject({ code: 0 });
      return end.stdout;
    };
    const expectRefused = () =>
      vi.waitFor(async () => {
        const refused = { sink: 'refusing', router: 'plant-0', isReplayed: false };
        expect(JSON.parse(await deadLetters('list', '--json'))).toMatchObject([refused]);
      }, PATIENCE);
    await expectRefused();
    expect(await deadLetters('replay', '--all')).toBe('1 dead letter will be tried again\n');
    await expectRefused();
    // Every sink has the records, so that the janitor takes them out of the stream, but for the last one.
    await vi.waitFor(async () => {
      const records = (await server.read('RX_plant')).filter(({ subject }) => subject.startsWith('rx.plant.rec.'));
      expect(records.length).toBeLessThanOrEqual(1);
    }, PATIENCE);

    // Routers and sinks move: from one that ends by itself, to one that is new, and from one that is killed.
    await a.stop();
    await expectShared([b], world.names);
    const c = await bench.start('c');
    await expectShared([b, c], world.names);
    await b.kill();
    await expectShared([c], world.names);
    world.write();
    await expectReceived(world);
    expect(server.log).not.toMatch(/violation/i);
    for (const { log, name } of [a, b, c]) expect(log, name).not.toMatch(/permission/i);
  },
);
