/**
 * Frees memory that nobody looks at any more; views of it are empty from now on. Until memory is collected, V8 counts it as growth of
 * the heap, which is searched for garbage because of it. Shared memory does not count, and is left alone.
 */
export function freeMemory(memory: ArrayBufferLike): void {
  if (memory instanceof ArrayBuffer) memory.transfer(0);
}
