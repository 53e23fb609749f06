import { readFile, writeFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { dirname, join } from 'node:path';
import { hashSync } from 'bcryptjs';
import { expect, test } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { type Program, startRouterExporter } from '../support/child.ts';
import { writeRunConfig } from '../support/run-config.ts';
import { sampled, sampleNote } from '../support/sampled.ts';
import { fetchRaw, toBasic } from '../web/bench.ts';

/** Requests of each kind. */
const REQUESTS = sampled('refused requests', 5000, 250);
const AT_ONCE = 40;
/** Processor time of the agent for a refusal, its own polls included: ten times what it takes. Milliseconds. */
const REFUSAL_MS_MAX = 4;
/** Comparisons of passwords are meant to cost, and one follows the other: a flood has as many as there is time for. Milliseconds. */
const COMPARISONS_MS_MAX = 10_000;
const CLOCK_TICK_MS = 10;

async function readProcessorMs({ process: { pid } }: Program): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, 'latin1');
  const [user = 0, system = 0] = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number);
  return (user + system) * CLOCK_TICK_MS;
}

const FLOODS = [
  {
    kind: 'wrong passwords',
    status: [401, 503],
    limitMs: COMPARISONS_MS_MAX,
    headers: (n: number) => toBasic('alice', `guess ${n}`),
  },
  {
    kind: 'users who do not exist',
    status: [401, 503],
    limitMs: COMPARISONS_MS_MAX,
    headers: (n: number) => toBasic(`nobody ${n}`, 'x'),
  },
  { kind: 'wrong tokens', status: [401], limitMs: 0, headers: (n: number) => ({ authorization: `Bearer guess-${n}` }) },
  { kind: 'no credentials', status: [401], limitMs: 0, headers: () => ({}) },
  {
    kind: 'foreign names',
    status: [421],
    limitMs: 0,
    headers: (n: number) => ({ host: `evil-${n}.example`, 'user-agent': 'Mozilla/5.0' }),
  },
  {
    kind: 'roles that are too low',
    status: [403],
    limitMs: 0,
    headers: () => ({ authorization: 'Bearer token-of-a-scraper' }),
  },
] as const;

test(`a flood of requests that are refused costs little, fills no log and blocks no authorised user${sampleNote('refused requests')}`, {
  timeout: 180_000,
}, async () => {
  await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 1 });
  await using config = await writeRunConfig(simulator);
  const users = ['alice', 'bob', 'carol'].map((user) => `${user}: "${hashSync('secret', 8)}"`);
  await writeFile(join(dirname(config.file), 'web.yaml'), `basic_auth_users: { ${users.join(', ')} }\n`);
  const text = await readFile(config.file, 'utf8');
  const access = 'access: { tokens: [{ name: prometheus, role: metrics, token: token-of-a-scraper }] }';
  await writeFile(config.file, text.replace('web: {', `web: { config_file: web.yaml, ${access},`));
  await using agent = startRouterExporter('run', '--config.file', config.file, '--log.format', 'json');
  const [, url = ''] = await agent.waitFor('stderr', /"urls":\["([^"]+)"/);
  const ask = async (headers: Record<string, string>) =>
    (await fetchRaw(`${url}/metrics`, { headers, localAddress: '127.0.0.9' })).status;
  const known = { ...toBasic('bob', 'secret') };
  expect(await ask(known)).toBe(200);
  const countLines = () => agent.stderr.split('\n').length;
  for (const { kind, status, limitMs, headers } of FLOODS) {
    const [linesBefore, msBefore] = [countLines(), await readProcessorMs(agent)];
    const seen = new Map<number | undefined, number>();
    const keepAlive = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
    let left = REQUESTS;
    const send = async (localAddress: string) => {
      while (left > 0) {
        const number = left--;
        const answer = await fetchRaw(`${url}/config`, { agent: keepAlive, headers: headers(number), localAddress });
        seen.set(answer.status, (seen.get(answer.status) ?? 0) + 1);
      }
    };
    const flood = Promise.all(Array.from({ length: AT_ONCE }, (_, index) => send(`127.0.0.${2 + (index % 4)}`)));
    // A user whose password was checked before, a new user, and a scraper.
    const first = kind === 'wrong passwords' ? await ask(toBasic('carol', 'secret')) : 200;
    expect([kind, first, await ask(known), await ask({ authorization: 'Bearer token-of-a-scraper' })]).toEqual([
      kind,
      200,
      200,
      200,
    ]);
    await flood;
    keepAlive.destroy();
    const spentMs = (await readProcessorMs(agent)) - msBefore;
    expect([kind, ...seen.keys()].filter((one) => one !== kind && !status.some((allowed) => allowed === one))).toEqual(
      [],
    );
    expect([...seen.values()].reduce((sum, count) => sum + count, 0)).toBe(REQUESTS);
    expect(spentMs, kind).toBeLessThan(REFUSAL_MS_MAX * REQUESTS + limitMs);
    expect(countLines() - linesBefore, `${kind}: ${agent.stderr.slice(-2000)}`).toBeLessThan(10);
  }
});
