import type { MetricFamily } from '../../model/index.ts';
import { type AnsweredPoll, findMedian } from '../../schedule/index.ts';
import type { PollResult } from '../../status/index.ts';
import { LatestFacts } from '../views/latest-facts.ts';

/** Values below which a signal is poor, by metric: the limits of the alert `RouterSignalPoor`. RSSI only counts without RSRP. */
const POOR_BELOW = { rsrp: -110, rssi: -95 } as const;
const RSRP = 'router_modem_rsrp_dbm';
const RSSI = 'router_modem_rssi_dbm';

/** Reads how a router answered from its polls. */
export class PollReader {
  /** Whether the signal is poor, by resource. */
  readonly #isPoor = new LatestFacts(isSignalPoor);

  /** Returns how the router answered; `undefined` if the poll says nothing of that. */
  read({ isUp, isIdle, resources }: PollResult): AnsweredPoll | undefined {
    if (!isUp || isIdle) return undefined;
    this.#isPoor.record(resources);
    // The modem with the best signal is the one in use.
    const modems = this.#isPoor.list(Math.max(...resources.map(({ readAtMs }) => readAtMs)));
    // One large answer does not make a router slow.
    return {
      responseMs: findMedian(resources.map(({ durationMs }) => durationMs)),
      isSignalPoor: modems.length > 0 && modems.every((isPoor) => isPoor),
    };
  }
}

/** Returns whether the best signal among some values is poor; `undefined` without any. */
function isSignalPoor(families: readonly MetricFamily[]): boolean | undefined {
  const valuesOf = (name: string) =>
    families.filter((family) => family.name === name).flatMap(({ samples }) => samples.map(({ value }) => value));
  const [rsrp, rssi] = [valuesOf(RSRP), valuesOf(RSSI)];
  if (rsrp.length > 0) return Math.max(...rsrp) < POOR_BELOW.rsrp;
  return rssi.length > 0 ? Math.max(...rssi) < POOR_BELOW.rssi : undefined;
}
