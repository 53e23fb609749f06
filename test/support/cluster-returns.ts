import { expect, vi } from 'vitest';
import type { TakenWatch } from './cluster-stream.ts';
import type { ClusterWorld } from './cluster-world.ts';

/** A replica that goes on after a pause in which others have taken its routers. */
export interface Return {
  readonly replica: string;
  /** Routers that it had before the pause. */
  readonly lost: readonly string[];
  /** When it went on, as `performance.now()` of the test. */
  readonly atMs: number;
}

const PATIENCE = { timeout: 60_000, interval: 100 };
/** Of the lost routers, those to which a request was on the wire in the moment of the pause are far fewer. */
const ON_THE_WIRE_SHARE = 0.25;

/**
 * A replica that went on takes each router that it had lost anew, and asks it from then on; before, it sends at most the request
 * that was on the wire. The others ask none of these routers any more once it does.
 */
export async function expectAskedOnceTaken(
  { asked }: ClusterWorld,
  { taken }: TakenWatch,
  { replica, lost, atMs }: Return,
): Promise<void> {
  // Without this there would be nothing to find.
  const again = await vi.waitFor(() => {
    const times = new Map<string, number>();
    for (const one of taken) {
      if (one.replica === replica && one.atMs >= atMs && !times.has(one.router)) times.set(one.router, one.atMs);
    }
    expect(lost.filter((router) => !times.has(router))).toEqual([]);
    return times;
  }, PATIENCE);
  const since = (router: string) => asked.filter((one) => one.router === router && one.atMs >= atMs);
  const isOwn = (router: string, one: { readonly replica: string; readonly atMs: number }) =>
    one.replica === replica && one.atMs >= (again.get(router) ?? Number.NaN);
  await vi.waitFor(() => {
    for (const router of lost)
      expect(
        since(router).some((one) => isOwn(router, one)),
        router,
      ).toBe(true);
  }, PATIENCE);
  let early = 0;
  for (const router of lost) {
    const requests = since(router);
    const story = `${router}, taken at ${again.get(router)}: ${JSON.stringify(requests)}`;
    const ofThis = requests.filter((one) => one.replica === replica && !isOwn(router, one));
    expect(ofThis.length, story).toBeLessThanOrEqual(1);
    early += ofThis.length;
    const lastOfOthers = requests.findLastIndex((one) => one.replica !== replica);
    expect(lastOfOthers, story).toBeLessThan(requests.findIndex((one) => isOwn(router, one)));
  }
  expect(early).toBeLessThanOrEqual(lost.length * ON_THE_WIRE_SHARE);
}
