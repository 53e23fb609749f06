/**
 * Measures what the main thread of a process takes of the processor between two timers of a millisecond: the delay that is
 * its own doing, on however busy a machine. As a preload (`node --import`), answers each message of the parent process.
 */
import { constants, createHistogram, type NodeGCPerformanceDetail, PerformanceObserver } from 'node:perf_hooks';

/** Figures since the start. Milliseconds and MiB. */
export interface StepFigures {
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly peakMiB: number;
  /** What the longest step took in the kernel. */
  readonly maxSystemMs: number;
  /** Collections of garbage in the longest step, as in `minor 12.3`, by the clock. Empty unless they are observed. */
  readonly collections: readonly string[];
}

const MEBIBYTE_KIB = 1024;
const KINDS: ReadonlyMap<number | undefined, string> = new Map([
  [constants.NODE_PERFORMANCE_GC_MINOR, 'minor'],
  [constants.NODE_PERFORMANCE_GC_MAJOR, 'major'],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 'incremental'],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, 'weak'],
]);

/** Starts to measure; the function that it returns ends the measurement. */
export function watchSteps(): () => StepFigures {
  const steps = createHistogram();
  let longest = { us: 0, system: 0, beganMs: 0, endedMs: 0 };
  let before = process.threadCpuUsage();
  let beganMs = performance.now();
  const timer = setInterval(() => {
    const { user, system } = process.threadCpuUsage(before);
    before = process.threadCpuUsage();
    const endedMs = performance.now();
    // The kernel counts in ticks of up to 4 ms; a thread takes no more of the processor than time passes.
    const us = Math.max(1, Math.min(user + system, Math.ceil((endedMs - beganMs) * 1000)));
    steps.record(us);
    if (us > longest.us) longest = { us, system, beganMs, endedMs };
    beganMs = endedMs;
  }, 1);
  collections.length = 0;
  return () => {
    clearInterval(timer);
    const peakMiB = process.resourceUsage().maxRSS / MEBIBYTE_KIB;
    const inLongest = collections.filter((one) => one.startTime >= longest.beganMs && one.startTime < longest.endedMs);
    return {
      p99Ms: steps.percentile(99) / 1e3,
      maxMs: steps.max / 1e3,
      maxSystemMs: longest.system / 1e3,
      peakMiB,
      collections: inLongest.map(({ kind, duration }) => `${kind} ${duration.toFixed(1)}`),
    };
  };
}

const collections: { readonly kind: string; readonly startTime: number; readonly duration: number }[] = [];

if (process.env['WATCH_STEPS'] === '1') {
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      // Entries of this type have a detail, which their common type does not.
      const { kind } = Reflect.get(entry, 'detail') as NodeGCPerformanceDetail;
      collections.push({ kind: KINDS.get(kind) ?? 'other', startTime: entry.startTime, duration: entry.duration });
    }
  }).observe({ type: 'gc' });
  let end = watchSteps();
  process.on('message', (message) => {
    if (message === 'begin') end = watchSteps();
    else process.send?.(end());
  });
  process.channel?.unref();
}
