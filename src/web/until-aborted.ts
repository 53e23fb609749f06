/** Waits for `promise`, or rejects with the signal's reason when that comes first. Leaves no listener behind. */
export async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
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
