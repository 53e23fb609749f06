import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Short files that last: a worker that begins with one at the end of a run leaves the others with nothing to do. */
const LASTING = /\/test\/(oracle|scenarios|pages|dashboards|faults)\/|\/flat-memory\.test\.ts$/;

/** Files that last come first; otherwise the order is that of Vitest, which goes by the size where it knows no durations. */
export class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- not the method of an array
    const sorted = await super.sort(files);
    const isLasting = (file: TestSpecification) => LASTING.test(file.moduleId);
    return [...sorted.filter(isLasting), ...sorted.filter((file) => !isLasting(file))];
  }
}
