import { expect, test } from 'vitest';
import { ConnectionLimit, findConnectionsMax } from '../../src/client/index.ts';

const GIBIBYTE = 1024 ** 3;

/** Connections by name, in the order of events. */
function createBench(max: number) {
  const limit = new ConnectionLimit(max);
  const happened: string[] = [];
  const releases = new Map<string, () => void>();
  return {
    limit,
    happened,
    /** Wants a connection, which is idle as soon as it is open unless it is `busy`. */
    want: (name: string, isBusy = false): (() => void) =>
      limit.claim((place) => {
        happened.push(`open ${name}`);
        releases.set(name, () => place.release());
        if (!isBusy) place.setIdle(() => void happened.push(`close ${name}`));
      }),
    /** The connection is closed by now. */
    release: (name: string) => releases.get(name)?.(),
  };
}

test.for([
  ['many open files', { descriptors: 65_536, memoryBytes: 64 * GIBIBYTE }, 32_768],
  ['few open files', { descriptors: 1024, memoryBytes: 64 * GIBIBYTE }, 512],
  ['a small container', { descriptors: 1_048_576, memoryBytes: GIBIBYTE / 4 }, 256],
  ['a system that says nothing of open files', { descriptors: undefined, memoryBytes: GIBIBYTE }, 1024],
  ['hardly anything', { descriptors: 20, memoryBytes: 1 }, 16],
] as const)('without a configured limit, %s decides on the number of connections', ([, resources, max]) => {
  expect(findConnectionsMax(resources)).toBe(max);
});

test('ConnectionLimit closes the connection that has been idle for longest, and opens the next when that is closed', () => {
  const { limit, want, release, happened } = createBench(2);
  want('a');
  want('b');
  want('c');
  expect(happened).toEqual(['open a', 'open b', 'close a']);
  expect(limit.load).toEqual({ busy: 0, idle: 1, waiting: 1, max: 2, evicted: 1 });
  release('a');
  expect(happened.slice(3)).toEqual(['open c']);
  expect(limit.load).toEqual({ busy: 0, idle: 2, waiting: 0, max: 2, evicted: 1 });
});

test('ConnectionLimit lets a connection wait while all are busy, for the first that becomes idle', () => {
  const { limit, want, release, happened } = createBench(1);
  let rest = () => {};
  limit.claim((place) => {
    rest = () =>
      place.setIdle(() => {
        happened.push('close a');
        place.release();
      });
  });
  want('b', true);
  const giveUp = want('c');
  want('d');
  expect(limit.load).toMatchObject({ busy: 1, idle: 0, waiting: 3 });
  rest();
  giveUp();
  expect(happened).toEqual(['close a', 'open b']);
  release('b');
  expect(happened.slice(2)).toEqual(['open d']);
});

test('ConnectionLimit counts a connection that is used again among the busy, which are never closed', () => {
  const limit = new ConnectionLimit(1);
  let closed = 0;
  limit.claim((place) => {
    place.setIdle(() => void closed++);
    place.setBusy();
  });
  limit.claim(() => {});
  expect([closed, limit.load]).toEqual([0, { busy: 1, idle: 0, waiting: 1, max: 1, evicted: 0 }]);
});

test('ConnectionLimit.setMax() closes idle connections beyond a lower limit, and opens what waits under a higher one', () => {
  const { limit, want, release, happened } = createBench(3);
  for (const name of ['a', 'b', 'c']) want(name);
  limit.setMax(1);
  expect(happened.slice(3)).toEqual(['close a', 'close b']);
  for (const name of ['a', 'b']) release(name);
  want('d');
  want('e');
  limit.setMax(5);
  expect(happened.slice(5)).toEqual(['close c', 'open d', 'open e']);
});

test('ConnectionLimit.awaitDescriptor() closes an idle connection, or the first that becomes idle, and says when a descriptor is free', () => {
  const { limit, want, release, happened } = createBench(9);
  const starve = (name: string) => limit.awaitDescriptor(() => void happened.push(`free ${name}`));
  want('a');
  starve('x');
  expect(happened).toEqual(['open a', 'close a']);
  release('a');
  release('a');
  expect(happened.slice(2)).toEqual(['free x']);
  starve('y')();
  starve('z');
  want('b');
  release('b');
  expect(happened.slice(3)).toEqual(['open b', 'close b', 'free z']);
});
