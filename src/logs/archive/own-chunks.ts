/** Chunks that a decoding thread has made. */
const own = new WeakSet<Uint8Array>();

/** Notes that a decoding thread made this chunk, which is alone in its memory. */
export function markOwn(chunk: Uint8Array): void {
  own.add(chunk);
}

/** True if a decoding thread made this chunk. */
export function isOwn(chunk: Uint8Array): boolean {
  return own.has(chunk);
}
