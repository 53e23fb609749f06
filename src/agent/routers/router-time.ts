import type { RouterTime } from '../../logs/index.ts';
import type { DatedAnswer, RouterClient } from '../../router/index.ts';
import { readSystemWallMs } from '../../status/index.ts';

/** Status resource that contains the router's local time. */
export const TIME_RESOURCE = 'sysdetail/system';

/**
 * Reads a router's time: local from the body of the answer, UTC from its header. Returns `undefined` without both; throws
 * what the client throws.
 */
export async function readRouterTime(
  client: Pick<RouterClient, 'readDatedStatus'>,
  signal: AbortSignal,
): Promise<RouterTime | undefined> {
  return toRouterTime(await client.readDatedStatus(TIME_RESOURCE, signal));
}

/** Returns the router's time from an answer for {@link TIME_RESOURCE}; `undefined` unless it has both times. */
export function toRouterTime({ body, dateMs }: DatedAnswer): RouterTime | undefined {
  const wallAsUtcMs = dateMs === undefined ? undefined : readSystemWallMs(body, dateMs);
  return dateMs === undefined || wallAsUtcMs === undefined ? undefined : { wallAsUtcMs, utcMs: dateMs };
}
