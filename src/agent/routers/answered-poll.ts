import { type AnsweredPoll, findMedian } from '../../schedule/index.ts';
import type { PollResult } from '../../status/index.ts';

/** Values below which a signal is poor, by metric: the limits of the alert `RouterSignalPoor`. RSSI only counts without RSRP. */
const POOR_BELOW = { rsrp: -110, rssi: -95 } as const;
const RSRP = 'router_modem_rsrp_dbm';
const RSSI = 'router_modem_rssi_dbm';

/** Reads how a router answered from its polls. */
export class PollReader {
  /** Of the last answer that had a signal: an unchanged one has no values. */
  #isSignalPoor = false;

  /** Returns how the router answered; `undefined` if the poll says nothing of that. */
  read({ isUp, isIdle, resources }: PollResult): AnsweredPoll | undefined {
    if (!isUp || isIdle) return undefined;
    const families = resources.flatMap((resource) => resource.families);
    const valuesOf = (name: string) =>
      families.filter((family) => family.name === name).flatMap(({ samples }) => samples.map(({ value }) => value));
    const [rsrp, rssi] = [valuesOf(RSRP), valuesOf(RSSI)];
    // The modem with the best signal is the one in use.
    if (rsrp.length > 0) this.#isSignalPoor = Math.max(...rsrp) < POOR_BELOW.rsrp;
    else if (rssi.length > 0) this.#isSignalPoor = Math.max(...rssi) < POOR_BELOW.rssi;
    // One large answer does not make a router slow.
    return { responseMs: findMedian(resources.map(({ durationMs }) => durationMs)), isSignalPoor: this.#isSignalPoor };
  }
}
