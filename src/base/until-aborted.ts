/**
 * Waits for `promise`, or rejects with the signal's reason when that comes first. Leaves no listener behind, so that long
 * work does not pile them up on a long-lived signal. Without a signal it just waits.
 */
export async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    // When the abort won, nobody is left to hear of a later failure.
    promise.catch(() => {});
  }
}
