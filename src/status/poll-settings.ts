import type { z } from 'zod';
import { renderDuration } from '../base/index.ts';
import { duration, orDefaults, type Settled, type SoundOf, section } from '../settings/index.ts';

/** Schema of the section `poll` of a router. */
export const pollSchema = section('When the status of the router is read.', {
  // The usual scrape interval: faster polling adds load without use.
  interval: duration({ description: 'Interval between cycles.' }).prefault('1m'),
  // Several round trips of a poor cellular link.
  timeout: duration({
    description: 'Limit of one request. The default shrinks to `deadline` when that is shorter.',
    advanced: true,
  }).prefault('10s'),
  // A link with a round trip of two seconds that loses the first packet (TCP repeats it after one second) takes three.
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
  // Two failed cycles at the default interval should not leave a gap in a graph.
  stale_after: duration({
    description:
      'Time for which the last values are served after the router stops answering. The default grows to three times `interval` when that is longer. Values of a router whose modules are all read more rarely than that are served until three polls are missed.',
    advanced: true,
  }).prefault('3m'),
});

/** Part of a shorter interval that one cycle may take. */
const DEADLINE_SHARE = 0.75;
/** Values are served for at least this many intervals. */
const STALE_AFTER_INTERVALS = 3;

/** Milliseconds. Holds: `connect_timeout` <= `timeout` <= `deadline` <= `interval` < `stale_after`. */
export type PollSettings = Settled<PollKeys>;

type WrittenPoll = SoundOf<typeof pollSchema>;
type PollKeys = z.output<typeof pollSchema>;
type PollKey = keyof PollKeys;

/** Two times that contradict each other; at least one of the keys is set. */
interface PollConflict {
  /** In the order in which a fault looks for one that is set. */
  readonly keys: readonly [PollKey, PollKey];
  readonly message: string;
}

/** Applies the defaults, which adapt to the set keys, and lists contradictions. */
export function resolvePoll(set: WrittenPoll = {}): { poll: PollSettings; conflicts: PollConflict[] } {
  const poll = fitDefaults(set, orDefaults(pollSchema, set));
  const { interval, timeout, connect_timeout, deadline, stale_after } = poll;
  const name = (key: PollKey, valueMs: number) =>
    `poll.${key} (${renderDuration(valueMs)}${set[key] === undefined ? ' by default' : ''})`;
  const conflicts: PollConflict[] = [];
  const refuseIf = (isWrong: boolean, key: PollKey, other: PollKey, render: (one: string, two: string) => string) => {
    if (!isWrong) return;
    conflicts.push({ keys: [key, other], message: render(name(key, poll[key]), name(other, poll[other])) });
  };
  refuseIf(timeout > deadline, 'timeout', 'deadline', (one, two) => {
    return `${one}, the limit of one request, is longer than ${two}, the limit of a whole cycle; shorten the timeout or set a longer deadline`;
  });
  refuseIf(connect_timeout > timeout, 'connect_timeout', 'timeout', (one, two) => {
    return `${one}, the limit of opening a connection, is longer than ${two}, the limit of one request; shorten the connect_timeout or set a longer timeout`;
  });
  refuseIf(deadline > interval, 'deadline', 'interval', (one, two) => {
    return `${one} is longer than ${two}, so a cycle could still run when the next is due; shorten the deadline or set a longer interval`;
  });
  refuseIf(stale_after <= interval, 'stale_after', 'interval', (one, two) => {
    return `${one} is not longer than ${two}, so series would vanish between two cycles; set stale_after to several intervals`;
  });
  return { poll, conflicts };
}

/** Adapts each default to the set keys and to the defaults before it. */
function fitDefaults(set: WrittenPoll, { interval, ...defaults }: PollKeys): PollKeys {
  const deadline = set.deadline ?? Math.min(defaults.deadline, Math.floor(interval * DEADLINE_SHARE));
  const timeout = set.timeout ?? Math.min(defaults.timeout, deadline);
  const connect_timeout = set.connect_timeout ?? Math.min(defaults.connect_timeout, timeout);
  const stale_after = set.stale_after ?? Math.max(defaults.stale_after, interval * STALE_AFTER_INTERVALS);
  return { interval, timeout, connect_timeout, deadline, stale_after };
}
