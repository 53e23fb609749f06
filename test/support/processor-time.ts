/** Milliseconds that this thread worked for `work`. On a busy machine the clock on the wall measures the others. */
export function measureProcessorMs(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}
