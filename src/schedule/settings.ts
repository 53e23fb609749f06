import type { z } from 'zod';
import { type Settled, section, wholeNumber } from '../settings/index.ts';

const RUNS_LEAST = 1;
const RUNS_MOST = 100_000;

/** Schema of the section `schedule`. */
export const scheduleSchema = section('What runs at the same time.', {
  concurrent_runs: wholeNumber(
    {
      description:
        'Maximum number of status polls, readings of logs and backups at a time, over all routers; a third of it is for readings of logs and backups, but at least one place for these and one for polls. Default: half of the open files that the process may have, at most one for each MiB of memory, and 4096.',
      advanced: true,
    },
    RUNS_LEAST,
    RUNS_MOST,
  ).optional(),
}).meta({ advanced: true });

/** The section `schedule`. */
export type ScheduleSettings = Settled<z.output<typeof scheduleSchema>>;

/** Resources of the process that bound concurrent runs. */
export interface RunResources {
  /** Number of files that the process may have open; `undefined` if unknown. */
  readonly descriptors: number | undefined;
  /** Memory of the machine or the container. Bytes. */
  readonly memoryBytes: number;
}

/** At 0.4 s a request, ten thousand routers with their logs need about a thousand. */
const DEFAULT_MOST = 4096;
const DEFAULT_LEAST = 16;
const MEBIBYTE = 1024 ** 2;

/** Returns the limit of concurrent runs without a configured one. */
export function findRunsMax({ descriptors = Infinity, memoryBytes }: RunResources): number {
  const most = Math.min(DEFAULT_MOST, Math.floor(descriptors / 2), Math.floor(memoryBytes / MEBIBYTE));
  return Math.max(DEFAULT_LEAST, most);
}
