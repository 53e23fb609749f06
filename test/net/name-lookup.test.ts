import { spawnSync } from 'node:child_process';
import type { LookupAddress } from 'node:dns';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import type { LookupFunction } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSteppedClock } from '../../src/base/index.ts';
import { NameLookup } from '../../src/net/index.ts';
import { withPrograms } from '../support/tools.ts';

type Result = readonly (string | undefined)[];

/** Lookups of names that the test answers. With the 24 threads of the program, 9 run at a time, and 4 of those that may hang. */
function createBench(threads = 24) {
  const clock = createSteppedClock(0);
  const asked: string[] = [];
  const running = new Map<string, (error: NodeJS.ErrnoException | null, addresses?: LookupAddress[]) => void>();
  const names = new NameLookup({
    clock,
    threads,
    ask: (name, _options, answer) => {
      asked.push(name);
      running.set(name, answer);
    },
  });
  const end = (name: string, ...result: [NodeJS.ErrnoException | null, LookupAddress[]?]) => {
    const answer = running.get(name);
    running.delete(name);
    answer?.(...result);
  };
  return {
    clock,
    names,
    asked,
    running,
    resolve: (name: string): Promise<Result | string> => resolveWith(names.lookup, name),
    answer: (name: string, address = '192.0.2.1') => end(name, null, [{ address, family: 4 }]),
    fail: (name: string, code: string) => end(name, Object.assign(new Error(code), { code })),
  };
}

/** Resolves with the addresses of a name, or the code of the error. */
function resolveWith(lookup: LookupFunction, name: string): Promise<Result | string> {
  return new Promise((settle) =>
    lookup(name, { all: true }, (error, addresses) => {
      if (error) settle(error.code ?? '');
      else settle([addresses].flat().map((one) => (typeof one === 'string' ? one : one.address)));
    }),
  );
}

test('NameLookup asks once for all who want a name, in the form that each wants', async () => {
  const { names, asked, answer, resolve } = createBench();
  const all = resolve('a.test');
  const one = new Promise((settle) => names.lookup('a.test', {}, (...result) => settle(result)));
  answer('a.test');
  expect(await all).toEqual(['192.0.2.1']);
  expect(await one).toEqual([null, '192.0.2.1', 4]);
  expect(asked).toEqual(['a.test']);
});

test('NameLookup tries an unknown domain with one name, and asks for all of them once that has an answer', () => {
  const { asked, answer, resolve } = createBench();
  for (const name of ['a.x.test', 'b.x.test', 'c.x.test', 'a.y.test']) void resolve(name);
  expect(asked).toEqual(['a.x.test', 'a.y.test']);
  answer('a.x.test');
  expect(asked.slice(2)).toEqual(['b.x.test', 'c.x.test']);
});

test.each([4, 24])(
  'NameLookup with %d threads resolves names at once while a thousand others hang',
  async (threads) => {
    const { clock, names, asked, running, answer, fail, resolve } = createBench(threads);
    for (let index = 0; index < 1000; index++) void resolve(`dead-${index}.x.test`);
    await clock.advance(2000);
    const doubtfulMax = threads === 4 ? 1 : 4;
    expect(running.size).toBe(doubtfulMax);
    expect(names.waiting).toBe(1000 - doubtfulMax);
    for (let round = 0; round < 3; round++) {
      const healthy = resolve(`plant-${round}.y.test`);
      expect(asked.at(-1)).toBe(`plant-${round}.y.test`);
      answer(`plant-${round}.y.test`);
      expect(await healthy).toEqual(['192.0.2.1']);
      for (const name of [...running.keys()]) fail(name, 'EAI_AGAIN');
      await clock.advance(10_000);
      expect(running.size).toBe(doubtfulMax);
    }
  },
);

test('NameLookup keeps using the last addresses of a name without an answer in two seconds, for an hour', async () => {
  const { clock, asked, answer, fail, resolve } = createBench();
  const first = resolve('a.test');
  answer('a.test');
  await first;

  const second = resolve('a.test');
  await clock.advance(2000);
  expect(await second).toEqual(['192.0.2.1']);
  fail('a.test', 'EAI_AGAIN');
  const third = resolve('a.test');
  fail('a.test', 'EAI_AGAIN');
  expect(await third).toEqual(['192.0.2.1']);

  await clock.advance(3_600_000);
  const last = resolve('a.test');
  await clock.advance(2000);
  fail('a.test', 'EAI_AGAIN');
  expect(await last).toBe('EAI_AGAIN');
  expect(asked).toHaveLength(4);
});

test('NameLookup forgets the addresses of a name that does not exist any more', async () => {
  const { clock, answer, fail, resolve } = createBench();
  const known = resolve('a.test');
  answer('a.test');
  await known;
  const unknown = resolve('a.test');
  fail('a.test', 'ENOTFOUND');
  expect(await unknown).toBe('ENOTFOUND');
  const again = resolve('a.test');
  await clock.advance(60_000);
  expect(await again).toBe('EAI_AGAIN');
});

test('NameLookup asks for a name that hung as for any other once it has an answer', async () => {
  const { clock, asked, answer, resolve } = createBench(4);
  void resolve('a.test');
  await clock.advance(2000);
  void resolve('b.test');
  expect(asked).toEqual(['a.test']);
  answer('a.test');
  answer('b.test');
  void resolve('a.test');
  void resolve('b.test');
  expect(asked.slice(1)).toEqual(['b.test', 'a.test', 'b.test']);
});

const MODULE = new URL('../../src/net/index.ts', import.meta.url).href;
const CLOCK = new URL('../../src/base/index.ts', import.meta.url).href;
/** Names without an answer, and one of /etc/hosts. */
const SCRIPT = `
import { createSocket } from 'node:dgram';
import { writeSync } from 'node:fs';
const { NameLookup } = await import('${MODULE}');
const { createSystemClock } = await import('${CLOCK}');
const hole = createSocket('udp4');
const asked = new Promise((resolve) => hole.once('message', resolve));
await new Promise((resolve) => hole.bind(53, '127.0.0.2', resolve));
const { lookup } = new NameLookup({ clock: createSystemClock() });
let ended = 0;
for (let index = 0; index < 20; index++) lookup('dead-' + index + '.customer.test', { all: true }, () => ended++);
await asked;
lookup('localhost', { all: true }, (error, addresses) => {
  writeSync(1, String(error ?? [ended, ...addresses.map(({ address }) => address)]));
  // Any other end waits for the lookups.
  process.kill(process.pid, 'SIGKILL');
});
`;
const canMount = spawnSync('unshare', ['--mount', 'true']).status === 0;

withPrograms(['unshare', 'mount'], test.skipIf(!canMount))(
  'NameLookup resolves a name of /etc/hosts at once while the name server of the machine hangs',
  async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-test-'));
    const file = join(folder.path, 'resolv.conf');
    await writeFile(file, 'nameserver 127.0.0.2\noptions timeout:5\n');
    const command = `mount --bind ${file} /etc/resolv.conf && exec "$0" "$@"`;
    const script = ['--input-type=module', '-e', SCRIPT];
    const { stdout, stderr } = spawnSync('unshare', ['--mount', 'sh', '-c', command, process.execPath, ...script], {
      encoding: 'utf8',
    });
    expect([stdout, stderr]).toEqual([expect.stringMatching(/^0,.*127\.0\.0\.1/), '']);
  },
);
