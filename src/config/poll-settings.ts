import { renderDuration } from '../base/index.ts';
import type { PollSettings } from './config.ts';
import {
  POLL_CONNECT_TIMEOUT_MS,
  POLL_DEADLINE_MS,
  POLL_DEADLINE_SHARE,
  POLL_INTERVAL_MS,
  POLL_STALE_AFTER_INTERVALS,
  POLL_STALE_AFTER_MS,
  POLL_TIMEOUT_MS,
} from './defaults.ts';
import type { Layer } from './router-schema.ts';

type PollLayer = NonNullable<Layer['poll']>;
export type PollKey = keyof PollLayer;

/** Two times that do not go together; at least one of the keys was set. */
export interface PollConflict {
  readonly keys: readonly [PollKey, PollKey];
  readonly message: string;
}

/** Applies the defaults, which give way to what is set, and names what contradicts itself. */
export function resolvePoll(set: PollLayer): { poll: PollSettings; conflicts: PollConflict[] } {
  const intervalMs = set.interval ?? POLL_INTERVAL_MS;
  const deadlineMs = set.deadline ?? Math.min(POLL_DEADLINE_MS, Math.floor(intervalMs * POLL_DEADLINE_SHARE));
  const timeoutMs = set.timeout ?? Math.min(POLL_TIMEOUT_MS, deadlineMs);
  const connectTimeoutMs = set.connect_timeout ?? Math.min(POLL_CONNECT_TIMEOUT_MS, timeoutMs);
  const staleAfterMs = set.stale_after ?? Math.max(POLL_STALE_AFTER_MS, intervalMs * POLL_STALE_AFTER_INTERVALS);
  const name = (key: PollKey, valueMs: number) =>
    `poll.${key} (${renderDuration(valueMs)}${set[key] === undefined ? ' by default' : ''})`;

  const interval = name('interval', intervalMs);
  const deadline = name('deadline', deadlineMs);
  const conflicts: PollConflict[] = [];
  if (timeoutMs > deadlineMs) {
    conflicts.push({
      keys: ['timeout', 'deadline'],
      message: `${name('timeout', timeoutMs)}, the limit of one request, is longer than ${deadline}, the limit of a whole cycle; shorten the timeout or set a longer deadline`,
    });
  }
  if (connectTimeoutMs > timeoutMs) {
    conflicts.push({
      keys: ['connect_timeout', 'timeout'],
      message: `${name('connect_timeout', connectTimeoutMs)}, the limit of opening a connection, is longer than ${name('timeout', timeoutMs)}, the limit of one request; shorten the connect_timeout or set a longer timeout`,
    });
  }
  if (deadlineMs > intervalMs) {
    conflicts.push({
      keys: ['deadline', 'interval'],
      message: `${deadline} is longer than ${interval}, so a cycle could still run when the next is due; shorten the deadline or set a longer interval`,
    });
  }
  if (staleAfterMs <= intervalMs) {
    conflicts.push({
      keys: ['stale_after', 'interval'],
      message: `${name('stale_after', staleAfterMs)} is not longer than ${interval}, so series would vanish between two cycles; set stale_after to several intervals`,
    });
  }
  return { poll: { intervalMs, timeoutMs, connectTimeoutMs, deadlineMs, staleAfterMs }, conflicts };
}
