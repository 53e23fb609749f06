import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Short files that last: a worker that begins with one at the end of a run leaves the others with nothing to do. */
const LASTING = [
  /\/test\/(oracle|scenarios|pages|dashboards|faults)\/|\/flat-memory\.test\.ts$/,
  // In a full run. They come behind those that wait for times, which they would disturb.
  /\/test\/(deploy|receivers)\/|\/(package|crash|failover|commands-under-faults|fuzz\/configuration)\.test\.ts$/,
];

/** Files that last come first; otherwise the order is that of Vitest, which goes by the size where it knows no durations. */
export class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification) => {
      const rank = LASTING.findIndex((pattern) => pattern.test(moduleId));
      return rank === -1 ? LASTING.length : rank;
    };
    // oxlint-disable-next-line unicorn/no-array-sort -- not the method of an array
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => rankOf(one) - rankOf(other));
  }
}
