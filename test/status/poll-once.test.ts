import { expect, test } from 'vitest';
import { createSteppedClock, DeadlineExceeded, type SteppedClock } from '../../src/base/index.ts';
import { type DocumentSource, pollOnce } from '../../src/status/index.ts';

const DEADLINE_MS = 45_000;
const BOARDS = { status: { list: [{ board_type: 'MRX2 LAN', serial_number: '12345' }] } };
const PROFILES = { profiles: [{ name: 'Profile_1', modified: true, last_activated: false }] };

/** An error as a source throws it. */
function failure(code: string, isAnswered = false): Error {
  return Object.assign(new Error(`It was ${code}`), { code, isAnswered });
}

interface Script {
  readonly device_info?: (signal: AbortSignal) => unknown;
  readonly profiles?: (signal: AbortSignal) => unknown;
}

function createSource(script: Script, asked: string[] = []): DocumentSource {
  return {
    async readStatus(resource, signal) {
      asked.push(resource);
      return script.device_info ? script.device_info(signal) : BOARDS;
    },
    async readProfiles(signal) {
      asked.push('profiles');
      return script.profiles ? script.profiles(signal) : PROFILES;
    },
  };
}

function poll(script: Script, clock: SteppedClock = createSteppedClock(0), signal = new AbortController().signal) {
  const asked: string[] = [];
  const source = createSource(script, asked);
  return { clock, asked, result: pollOnce({ source, clock, deadlineMs: DEADLINE_MS }, signal) };
}

function throwing(cause: unknown): () => never {
  return () => {
    throw cause;
  };
}

function hang(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
}

test('pollOnce() asks for every resource and gives the families of each', async () => {
  const { asked, result } = poll({});
  const { isUp, failure: reason, error, resources } = await result;
  expect(asked).toEqual(['device_info', 'profiles']);
  expect({ isUp, reason, error }).toEqual({ isUp: true, reason: undefined, error: undefined });
  expect(resources.map(({ resource }) => resource.name)).toEqual(['device_info', 'profiles']);
  expect(resources.flatMap(({ families }) => families ?? []).map(({ name }) => name)).toEqual([
    'router_board_info',
    'router_profile_modified',
    'router_profile_last_activated',
  ]);
});

test('pollOnce() measures each resource and the whole cycle', async () => {
  const clock = createSteppedClock(0);
  const slow = (document: unknown, durationMs: number) => async (signal: AbortSignal) => {
    await clock.sleep(durationMs, signal);
    return document;
  };
  await clock.advance(500);
  const { result } = poll({ device_info: slow(BOARDS, 300), profiles: slow(PROFILES, 200) }, clock);
  await clock.advance(10_000);
  const { durationMs, resources } = await result;
  expect(durationMs).toBe(500);
  expect(resources.map((resource) => [resource.durationMs, resource.readAtMs])).toEqual([
    [300, 800],
    [200, 1000],
  ]);
});

test('pollOnce() goes on after a resource that the router refused, and the router is up', async () => {
  const refusal = failure('auth', true);
  const { asked, result } = poll({ device_info: throwing(refusal) });
  const { isUp, failure: reason, resources } = await result;
  expect(asked).toHaveLength(2);
  expect({ isUp, reason }).toEqual({ isUp: true, reason: undefined });
  expect(resources[0]).toMatchObject({ families: undefined, error: refusal });
  expect(resources[1]?.families).toHaveLength(2);
});

test('pollOnce() takes a router for up that refused every resource', async () => {
  const { result } = poll({ device_info: throwing(failure('http', true)), profiles: throwing(failure('auth', true)) });
  expect(await result).toMatchObject({ isUp: true, failure: undefined });
});

test('pollOnce() counts a document of unknown shape as a fault of that resource alone', async () => {
  const { result } = poll({ device_info: () => ({ status: { unique: {} } }) });
  const { isUp, resources } = await result;
  expect(isUp).toBe(true);
  expect(resources[0]).toMatchObject({ families: undefined, error: { code: 'parse', isAnswered: true } });
  expect(resources[1]?.error).toBeUndefined();
});

test.each(['dns', 'connect', 'tls', 'auth', 'http', 'parse'])(
  'pollOnce() ends the cycle at the first resource when the router fails with %s',
  async (code) => {
    const cause = failure(code);
    const { asked, result } = poll({ device_info: throwing(cause) });
    expect(await result).toMatchObject({ isUp: false, failure: code, error: cause });
    expect(asked).toEqual(['device_info']);
  },
);

test('pollOnce() calls an error without a code http', async () => {
  const { result } = poll({ device_info: throwing('not even an error') });
  expect(await result).toMatchObject({ isUp: false, failure: 'http' });
});

test('pollOnce() tries the next resource after one that timed out, which may be alone with that', async () => {
  const { asked, result } = poll({ device_info: throwing(failure('timeout')) });
  expect(await result).toMatchObject({ isUp: true, failure: undefined });
  expect(asked).toHaveLength(2);
});

test('pollOnce() gives the first reason when every resource failed', async () => {
  const first = failure('timeout');
  const { result } = poll({ device_info: throwing(first), profiles: throwing(failure('connect')) });
  expect(await result).toMatchObject({ isUp: false, failure: 'timeout', error: first });
});

test('pollOnce() keeps what it has when the router goes away in the middle of the cycle', async () => {
  const { result } = poll({ profiles: throwing(failure('connect')) });
  const { isUp, resources } = await result;
  expect(isUp).toBe(true);
  expect(resources[0]?.families).toHaveLength(1);
  expect(resources[1]?.error).toBeDefined();
});

test('pollOnce() ends at its deadline with the reason timeout', async () => {
  const { clock, asked, result } = poll({ device_info: hang });
  await clock.advance(DEADLINE_MS);
  const { isUp, failure: reason, error, durationMs } = await result;
  expect({ isUp, reason, durationMs }).toEqual({ isUp: false, reason: 'timeout', durationMs: DEADLINE_MS });
  expect(error).toBeInstanceOf(DeadlineExceeded);
  expect(asked).toEqual(['device_info']);
});

test('pollOnce() keeps what it has at its deadline', async () => {
  const asked = Promise.withResolvers<void>();
  const { clock, result } = poll({
    profiles: (signal) => {
      asked.resolve();
      return hang(signal);
    },
  });
  await asked.promise;
  await clock.advance(DEADLINE_MS);
  const { isUp, resources } = await result;
  expect(isUp).toBe(true);
  expect(resources.map(({ families }) => families?.length)).toEqual([1, undefined]);
});

test('pollOnce() rejects with the reason when it is aborted', async () => {
  const abort = new AbortController();
  const reason = new RangeError('stop');
  const { asked, result } = poll({ device_info: hang }, createSteppedClock(0), abort.signal);
  abort.abort(reason);
  await expect(result).rejects.toBe(reason);
  expect(asked).toEqual(['device_info']);
});
