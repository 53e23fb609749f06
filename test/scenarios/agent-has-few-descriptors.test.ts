import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { hashSync } from 'bcryptjs';
import { expect, test } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { PROGRAM, startProgram } from '../support/child.ts';
import { writeRunConfig } from '../support/run-config.ts';
import { sampled, sampleNote } from '../support/sampled.ts';
import { fetchRaw, toBasic } from '../web/bench.ts';

const CLIENTS = 100;
/**
 * Routers, descriptors, which are far fewer than there are routers and clients together, and routers that are up in the end:
 * with 90, more than can have a connection at the same time; with 64, the agent needs nearly all for itself and the server.
 */
const CASES = [
  [1, 64, 1],
  [60, 90, 45],
  [60, 64, 1],
] as const;

/** The real program, as a shell with this limit starts it. */
function startLimited(descriptors: number, ...args: string[]) {
  return startProgram('bash', ['-c', `ulimit -n ${descriptors}; exec "$0" "$@"`, process.execPath, PROGRAM, ...args]);
}

test.for(sampled('descriptors that are too few', [...CASES], CASES.slice(0, 1)))(
  `metrics and health checks are answered though %i routers and a hundred idle clients want more than the %i descriptors${sampleNote('descriptors that are too few')}`,
  async ([routers, descriptors, up]) => {
    await using simulator = await startSimulator({ routers, clock: createSystemClock(), seed: 1 });
    await using config = await writeRunConfig(simulator);
    // A busy machine is given the time for 60 logins: a poll that is cut short would begin again, and keep it busy.
    const text = await readFile(config.file, 'utf8');
    await writeFile(config.file, text.replace(/poll: .*/, 'poll: { interval: 5s, timeout: 5s, deadline: 5s }'));
    const webFile = join(dirname(config.file), 'web.yaml');
    await writeFile(webFile, `basic_auth_users: { alice: "${hashSync('secret', 4)}" }\n`);
    await using agent = startLimited(
      descriptors,
      'run',
      '--config.file',
      config.file,
      '--web.config.file',
      webFile,
      '--log.format',
      'json',
    );
    const [, url = ''] = await agent.waitFor('stderr', /"urls":\["([^"]+)"/);
    const clients: Socket[] = [];
    const port = Number(new URL(url).port);
    const ask = async (path: string, localAddress: string) =>
      (await fetchRaw(url + path, { headers: toBasic('alice', 'secret'), localAddress })).status;
    for (let count = 0; count < CLIENTS; count++) {
      const localAddress = `127.0.0.${1 + (count % 3)}`;
      const client = connect({ port, host: '127.0.0.1', localAddress });
      client.on('error', () => {});
      clients.push(client);
      await once(client, 'connect');
      if (count % 10 !== 0) continue;
      expect([count, await ask('/metrics', localAddress), await ask('/-/healthy', localAddress)]).toEqual([
        count,
        200,
        200,
      ]);
    }
    const countUp = async () => {
      const { body } = await fetchRaw(`${url}/metrics`, { headers: toBasic('alice', 'secret') });
      return body.toString().match(/^router_up\{.*\} 1$/gm)?.length ?? 0;
    };
    // Those that were read make room for others.
    await expect.poll(countUp, { timeout: 40_000 }).toBeGreaterThanOrEqual(up);
    for (const client of clients) client.destroy();
    agent.process.kill('SIGTERM');
    const { code, stderr } = await agent.ended;
    expect(code).toBe(0);
    expect(stderr.includes('The limit of open files is too low')).toBe(routers > descriptors / 2);
  },
);
