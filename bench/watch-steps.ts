/**
 * Measures what the main thread of a process takes of the processor between two timers of a millisecond: the delay that is
 * its own doing, on however busy a machine. As a preload (`node --import`), answers each message of the parent process.
 */
import { createHistogram } from 'node:perf_hooks';

/** Figures since the start. Milliseconds and MiB. */
export interface StepFigures {
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly peakMiB: number;
}

const MEBIBYTE_KIB = 1024;

/** Starts to measure; the function that it returns ends the measurement. */
export function watchSteps(): () => StepFigures {
  const steps = createHistogram();
  let before = process.threadCpuUsage();
  const timer = setInterval(() => {
    const { user, system } = process.threadCpuUsage(before);
    before = process.threadCpuUsage();
    steps.record(Math.max(1, user + system));
  }, 1);
  return () => {
    clearInterval(timer);
    const peakMiB = process.resourceUsage().maxRSS / MEBIBYTE_KIB;
    return { p99Ms: steps.percentile(99) / 1e3, maxMs: steps.max / 1e3, peakMiB };
  };
}

if (process.env['WATCH_STEPS'] === '1') {
  let end = watchSteps();
  process.on('message', (message) => {
    if (message === 'begin') end = watchSteps();
    else process.send?.(end());
  });
  process.channel?.unref();
}
