import type { z } from 'zod';
import { type Settled, section, wholeNumber } from '../settings/index.ts';

const RUNS_LEAST = 1;
const RUNS_MOST = 100_000;

/** Schema of the section `schedule`. */
export const scheduleSchema = section('What runs at the same time.', {
  concurrent_runs: wholeNumber(
    {
      description:
        'Maximum number of status polls, readings of logs and backups at a time, over all routers; a third of it is for readings of logs and backups, but at least one place for these and one for polls. Default: one for each two routers, 192 at least; at most half of the open files that the process may have, one for each MiB of memory, and 4096.',
      advanced: true,
    },
    RUNS_LEAST,
    RUNS_MOST,
  ).optional(),
}).meta({ advanced: true });

/** The section `schedule`. */
export type ScheduleSettings = Settled<z.output<typeof scheduleSchema>>;

interface RunResources {
  /** `undefined` if unknown. */
  readonly descriptors: number | undefined;
  /** Memory of the machine or the container. Bytes. */
  readonly memoryBytes: number;
  readonly routers: number;
}

/** At 0.4 s a request, ten thousand routers with their logs need about a thousand runs. */
const DEFAULT_MOST = 4096;
const DEFAULT_LEAST = 16;
/**
 * Two thirds of these poll, one third reads logs: enough for routers that take 5 s for each reading every 30 s. At the
 * first contact the processor is the limit, and each reading holds its part of a file in memory (bench/RESULTS.md,
 * Memory of the program as built).
 */
const RUNS_PER_ROUTER = 1 / 2;
const RUNS_OF_FEW_ROUTERS = 192;
const MEBIBYTE = 1024 ** 2;

/** Returns the limit of concurrent runs without a configured one. */
export function findRunsMax({ descriptors = Infinity, memoryBytes, routers }: RunResources): number {
  const most = Math.min(DEFAULT_MOST, Math.floor(descriptors / 2), Math.floor(memoryBytes / MEBIBYTE));
  const wanted = Math.max(RUNS_OF_FEW_ROUTERS, Math.floor(routers * RUNS_PER_ROUTER));
  return Math.max(DEFAULT_LEAST, Math.min(wanted, most));
}
