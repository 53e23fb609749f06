import { expect, test } from 'vitest';
import { createSteppedClock } from '../../../src/base/index.ts';
import { DeliveryError } from '../../../src/sinks/index.ts';
import { SUBJECT_FULL, SubjectFaults } from '../../../src/sinks/types/nats/subjects.ts';

const MINUTE_MS = 60_000;
const denied = new DeliveryError('unauthorized', 'No permission', { disposition: 'operator' });
const elsewhere = new DeliveryError('misconfigured', 'Other stream', { disposition: 'operator', answer: '10060' });
const unserved = new DeliveryError('failed', 'No responders', { disposition: 'retry', answer: '503' });
const full = new DeliveryError('throttled', 'Full', { disposition: 'hold-back', answer: '10077' });
const subjectFull = new DeliveryError('throttled', 'Full', { disposition: 'hold-back', answer: SUBJECT_FULL });

/** Faults at a server that has streams for these subjects; it says nothing of them when they are `null`. */
function createFaults(streams: readonly string[] | null = []) {
  const clock = createSteppedClock(0);
  const faults = new SubjectFaults(clock, async (subject) => streams === null || streams.includes(subject));
  return { clock, faults };
}

test('SubjectFaults blames a subject that may not be published to only when another one was acknowledged', async () => {
  for (const error of [denied, elsewhere]) {
    const { faults } = createFaults();
    expect(await faults.isOwn('a', error)).toBe(false);
    faults.recordAcknowledged('a');
    // The permission may have been taken from all of them.
    expect(await faults.isOwn('a', error)).toBe(false);
    expect(await faults.isOwn('b', error)).toBe(true);
    expect([faults.has('a'), faults.has('b')]).toEqual([false, true]);
    faults.recordAcknowledged('b');
    expect(faults.has('b')).toBe(false);
  }
});

test('SubjectFaults reports a subject without a stream after five minutes', async () => {
  const { clock, faults } = createFaults();
  expect(await faults.isOwn('b', unserved)).toBe(false);
  await clock.advance(4 * MINUTE_MS);
  expect(await faults.isOwn('b', unserved)).toBe(false);
  faults.recordAcknowledged('b');
  await clock.advance(4 * MINUTE_MS);
  expect(await faults.isOwn('b', unserved)).toBe(false);
  await clock.advance(5 * MINUTE_MS);
  expect(await faults.isOwn('b', unserved)).toBe(true);
  expect(faults.has('b')).toBe(true);
  // From then on at once, until it is stored.
  expect(await faults.isOwn('b', unserved)).toBe(true);
  expect(await faults.isOwn('b', full)).toBe(false);
  faults.recordAcknowledged('b');
  expect(await faults.isOwn('b', unserved)).toBe(false);
});

test('SubjectFaults blames a subject that is full for five minutes, if another one was acknowledged', async () => {
  const { clock, faults } = createFaults(['a', 'b']);
  expect(await faults.isOwn('b', subjectFull)).toBe(false);
  await clock.advance(60 * MINUTE_MS);
  // There is nothing else that it could hold up.
  expect(await faults.isOwn('b', subjectFull)).toBe(false);
  faults.recordAcknowledged('b');
  faults.recordAcknowledged('a');
  expect(await faults.isOwn('b', subjectFull)).toBe(false);
  await clock.advance(4 * MINUTE_MS);
  expect(await faults.isOwn('b', subjectFull)).toBe(false);
  await clock.advance(MINUTE_MS);
  expect(await faults.isOwn('b', subjectFull)).toBe(true);
  expect([faults.has('a'), faults.has('b')]).toEqual([false, true]);
  // The stream may be full as well, which concerns every subject.
  expect(await faults.isOwn('b', full)).toBe(false);
});

test.for([[['a', 'b']], [null]] as const)(
  'SubjectFaults waits for a stream that is there, or of which the server says nothing, however long: %j',
  async ([streams]) => {
    const { clock, faults } = createFaults(streams);
    faults.recordAcknowledged('a');
    expect(await faults.isOwn('b', unserved)).toBe(false);
    await clock.advance(60 * MINUTE_MS);
    expect([await faults.isOwn('a', unserved), await faults.isOwn('b', unserved)]).toEqual([false, false]);
  },
);
