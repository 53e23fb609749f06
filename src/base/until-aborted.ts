/**
 * Waits for `promise`, or rejects with the signal's reason if the signal aborts first. Leaves no listener behind, so
 * repeated calls do not pile up listeners on a long-lived signal. Without a signal it only waits.
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
    // After an abort nobody observes a later failure of the promise.
    promise.catch(() => {});
  }
}
