/** Chunks that a decoding thread has made, and what is called when they are given back. */
const own = new WeakMap<Uint8Array, () => void>();

/** Notes that a decoding thread made this chunk, which is alone in its memory. `onGivenBack` lets the thread fill that again. */
export function markOwn(chunk: Uint8Array, onGivenBack: () => void): void {
  own.set(chunk, onGivenBack);
}

/** True if a decoding thread made this chunk, and nobody has given it back. */
export function isOwn(chunk: Uint8Array): boolean {
  return own.has(chunk);
}

/** Lets the memory of a chunk be filled again: nobody looks at it any more. */
export function giveBack(chunk: Uint8Array): void {
  const onGivenBack = own.get(chunk);
  own.delete(chunk);
  onGivenBack?.();
}
