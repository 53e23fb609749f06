import { expect, test } from 'vitest';
import { createSteppedClock } from '../../src/base/index.ts';
import { Lease } from '../../src/cluster/lease.ts';

const LEASE_MS = 15_000;
const GRACE_MS = 900_000;

function open() {
  const clock = createSteppedClock(Date.UTC(2026, 10, 21));
  return { clock, lease: new Lease({ leaseMs: LEASE_MS, statusGraceMs: GRACE_MS, clock }) };
}

test('a lease counts from before it was sent', async () => {
  const { clock, lease } = open();
  expect([lease.isHeld, lease.ageMs]).toEqual([false, Infinity]);
  const sentMs = clock.monotonic();
  await clock.advance(4000);
  lease.acquire(sentMs);
  lease.see();
  await clock.advance(10_999);
  expect(lease.isHeld).toBe(true);
  await clock.advance(1);
  expect([lease.isHeld, lease.ageMs]).toEqual([false, LEASE_MS]);
});

test('a renewal that the engine confirmed after the lease ended here holds for what is left of it', async () => {
  const { clock, lease } = open();
  lease.acquire(clock.monotonic());
  lease.see();
  await clock.advance(5000);
  const sentMs = clock.monotonic();
  await clock.advance(12_000);
  expect(lease.isHeld).toBe(false);
  lease.renew(sentMs);
  expect(lease.isHeld).toBe(true);
  await clock.advance(3000);
  expect(lease.isHeld).toBe(false);
});

test('a new lease holds when what happened before it is known', () => {
  const { clock, lease } = open();
  lease.acquire(clock.monotonic());
  expect(lease.isHeld).toBe(false);
  lease.see();
  expect(lease.isHeld).toBe(true);
  lease.lose();
  lease.acquire(clock.monotonic());
  expect(lease.isHeld).toBe(false);
});

test('a wall clock that is set changes nothing', () => {
  const { clock, lease } = open();
  lease.acquire(clock.monotonic());
  lease.see();
  clock.jump(3_600_000);
  expect(lease.isHeld).toBe(true);
  clock.jump(-7_200_000);
  expect(lease.isHeld).toBe(true);
});

/** Attempts to reach the engine fail, one a second, each within half a second. */
async function fail({ clock, lease }: ReturnType<typeof open>, times: number): Promise<void> {
  for (let count = 0; count < times; count++) {
    const beganMs = clock.monotonic();
    await clock.advance(500);
    lease.recordFailure(beganMs, 500);
    await clock.advance(500);
  }
}

test('routers are asked for their status for a while when the engine is away, and no longer', async () => {
  const { clock, lease } = open();
  lease.acquire(clock.monotonic());
  lease.see();
  await fail({ clock, lease }, 20);
  expect([lease.isHeld, lease.isInGrace, lease.isEngineAway]).toEqual([false, true, true]);
  await fail({ clock, lease }, GRACE_MS / 1000 - 20);
  expect(lease.isInGrace).toBe(true);
  await fail({ clock, lease }, 1);
  expect([lease.isInGrace, lease.isEngineAway]).toEqual([false, true]);
  lease.renew(clock.monotonic());
  expect([lease.isHeld, lease.isEngineAway]).toEqual([true, false]);
});

test('a replica that never had a lease has no grace', async () => {
  const { clock, lease } = open();
  await fail({ clock, lease }, 3);
  expect(lease.isInGrace).toBe(false);
});

test('a process that was stopped takes its late answer for no failure of the engine', async () => {
  const { clock, lease } = open();
  lease.acquire(clock.monotonic());
  lease.see();
  // Stopped with a renewal on its way; its time limit fires first when it continues.
  const beganMs = clock.monotonic();
  await clock.advance(LEASE_MS + 1);
  lease.recordFailure(beganMs, 5000);
  expect([lease.isHeld, lease.isInGrace]).toEqual([false, false]);
});

test('a process that was stopped while the engine was away sends no request when it continues', async () => {
  const { clock, lease } = open();
  lease.acquire(clock.monotonic());
  lease.see();
  await fail({ clock, lease }, 20);
  expect(lease.isInGrace).toBe(true);
  await clock.advance(LEASE_MS);
  expect(lease.isInGrace).toBe(false);
  await fail({ clock, lease }, 1);
  expect(lease.isInGrace).toBe(true);
});
