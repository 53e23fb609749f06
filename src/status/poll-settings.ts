import type { z } from 'zod';
import { renderDuration } from '../base/index.ts';
import { duration, orDefaults, type Settled, type SoundOf, section } from '../settings/index.ts';

/** Schema of the section `poll` of a router. */
export const pollSchema = section('When the status of the router is read.', {
  // The usual scrape interval: faster polling would only add load that nobody sees.
  interval: duration({ description: 'Interval between cycles.' }).prefault('1m'),
  // Several round trips of a poor cellular link.
  timeout: duration({
    description: 'Limit of one request. The default shrinks to `deadline` when that is shorter.',
    advanced: true,
  }).prefault('10s'),
  // A link of two seconds' round trip that loses the first packet (TCP sends it again after one second) takes three.
  connect_timeout: duration({
    description:
      'Limit of opening one TCP connection, over all addresses of a name (the first gets half of it, 2 s at most, before the next is tried); resolving the name and the TLS handshake count against `timeout` alone. When it passes, the cycle ends, and the logs wait for the next one. The default shrinks to `timeout` when that is shorter.',
    advanced: true,
  }).prefault('5s'),
  // Leaves a quarter of the default interval free before the next cycle is due.
  deadline: duration({
    description: 'Limit of one cycle. The default shrinks to three quarters of `interval` when that is shorter.',
    advanced: true,
  }).prefault('45s'),
  // Two failed cycles at the default interval are not worth a hole in a graph.
  stale_after: duration({
    description:
      'Time for which the last values are served after the router stops answering. The default grows to three times `interval` when that is longer. Values of a router whose modules are all read more rarely than that are served until three polls are missed.',
    advanced: true,
  }).prefault('3m'),
});

/** The share of a shorter interval that one cycle may take. */
const DEADLINE_SHARE = 0.75;
/** Values are served for at least this many intervals. */
const STALE_AFTER_INTERVALS = 3;

/** Intervals and time limits of polling. Milliseconds. Holds: `connect_timeout` <= `timeout` <= `deadline` <= `interval` < `stale_after`. */
export type PollSettings = Settled<PollKeys>;

type WrittenPoll = SoundOf<typeof pollSchema>;
type PollKeys = z.output<typeof pollSchema>;
type PollKey = keyof PollKeys;

/** Two times that contradict each other; at least one of the keys was set. */
export interface PollConflict {
  /** The keys in the order in which a fault looks for one that is set. */
  readonly keys: readonly [PollKey, PollKey];
  /** The fault, with both times. */
  readonly message: string;
}

/** Applies the defaults, which adapt to what is set, and lists the contradictions. */
export function resolvePoll(set: WrittenPoll = {}): { poll: PollSettings; conflicts: PollConflict[] } {
  const poll = fitDefaults(set, orDefaults(pollSchema, set));
  const { interval, timeout, connect_timeout, deadline, stale_after } = poll;
  const name = (key: PollKey, valueMs: number) =>
    `poll.${key} (${renderDuration(valueMs)}${set[key] === undefined ? ' by default' : ''})`;
  const conflicts: PollConflict[] = [];
  if (timeout > deadline) {
    conflicts.push({
      keys: ['timeout', 'deadline'],
      message: `${name('timeout', timeout)}, the limit of one request, is longer than ${name('deadline', deadline)}, the limit of a whole cycle; shorten the timeout or set a longer deadline`,
    });
  }
  if (connect_timeout > timeout) {
    conflicts.push({
      keys: ['connect_timeout', 'timeout'],
      message: `${name('connect_timeout', connect_timeout)}, the limit of opening a connection, is longer than ${name('timeout', timeout)}, the limit of one request; shorten the connect_timeout or set a longer timeout`,
    });
  }
  if (deadline > interval) {
    conflicts.push({
      keys: ['deadline', 'interval'],
      message: `${name('deadline', deadline)} is longer than ${name('interval', interval)}, so a cycle could still run when the next is due; shorten the deadline or set a longer interval`,
    });
  }
  if (stale_after <= interval) {
    conflicts.push({
      keys: ['stale_after', 'interval'],
      message: `${name('stale_after', stale_after)} is not longer than ${name('interval', interval)}, so series would vanish between two cycles; set stale_after to several intervals`,
    });
  }
  return { poll, conflicts };
}

/** Shortens or lengthens each default to what is set, or to a default before it. */
function fitDefaults(set: WrittenPoll, { interval, ...defaults }: PollKeys): PollKeys {
  const deadline = set.deadline ?? Math.min(defaults.deadline, Math.floor(interval * DEADLINE_SHARE));
  const timeout = set.timeout ?? Math.min(defaults.timeout, deadline);
  const connect_timeout = set.connect_timeout ?? Math.min(defaults.connect_timeout, timeout);
  const stale_after = set.stale_after ?? Math.max(defaults.stale_after, interval * STALE_AFTER_INTERVALS);
  return { interval, timeout, connect_timeout, deadline, stale_after };
}
