import { expect, test } from 'vitest';
import { createSteppedClock } from '../../../src/base/index.ts';
import { DeliveryError } from '../../../src/delivery/index.ts';
import { SubjectFaults } from '../../../src/delivery/sinks/nats/subject-faults.ts';

const MINUTE_MS = 60_000;
const denied = new DeliveryError('unauthorized', 'No permission', { disposition: 'operator' });
const elsewhere = new DeliveryError('misconfigured', 'Other stream', { disposition: 'operator', answer: '10060' });
const unserved = new DeliveryError('failed', 'No responders', { disposition: 'retry', answer: '503' });
const full = new DeliveryError('throttled', 'Full', { disposition: 'hold-back', answer: '10077' });

test('SubjectFaults blames a subject only when another one was acknowledged', () => {
  for (const error of [denied, elsewhere]) {
    const faults = new SubjectFaults(createSteppedClock(0));
    expect(faults.isOwn('a', error)).toBe(false);
    faults.noteAcknowledged('a');
    // The permission may have been taken from all of them.
    expect(faults.isOwn('a', error)).toBe(false);
    expect(faults.isOwn('b', error)).toBe(true);
    expect([faults.has('a'), faults.has('b')]).toEqual([false, true]);
    faults.noteAcknowledged('b');
    expect(faults.has('b')).toBe(false);
  }
});

test('SubjectFaults gives a stream five minutes to come back, and never blames a subject for a full one', async () => {
  const clock = createSteppedClock(0);
  const faults = new SubjectFaults(clock);
  faults.noteAcknowledged('a');
  expect(faults.isOwn('b', unserved)).toBe(false);
  await clock.advance(4 * MINUTE_MS);
  expect(faults.isOwn('b', unserved)).toBe(false);
  faults.noteAcknowledged('b');
  await clock.advance(4 * MINUTE_MS);
  expect(faults.isOwn('b', unserved)).toBe(false);
  await clock.advance(5 * MINUTE_MS);
  expect(faults.isOwn('b', unserved)).toBe(true);
  // From then on at once, until it is stored.
  expect(faults.isOwn('b', unserved)).toBe(true);
  expect(faults.isOwn('b', full)).toBe(false);
  faults.noteAcknowledged('b');
  expect(faults.isOwn('b', unserved)).toBe(false);
});
