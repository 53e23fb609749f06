/** Chunks that a decoding thread has made, and how each gives its memory back. */
const own = new WeakMap<Uint8Array, () => void>();

/** Notes that a decoding thread made this chunk, which is alone in its memory. `onGiven` lets the thread fill it again. */
export function markOwn(chunk: Uint8Array, onGiven: () => void): void {
  own.set(chunk, onGiven);
}

/** True if a decoding thread made this chunk. */
export function isOwn(chunk: Uint8Array): boolean {
  return own.has(chunk);
}

/** Lets the memory of a chunk be filled again: nobody looks at it any more. */
export function giveBack(chunk: Uint8Array): void {
  own.get(chunk)?.();
}
