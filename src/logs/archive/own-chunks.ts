/** Memory that came from a thread, with one chunk in it: nobody else uses that. */
const own = new WeakSet<ArrayBufferLike>();

/** Notes that a chunk is alone in its memory, and that the reader of the chunk may give the memory away. */
export function markOwn(chunk: Uint8Array): void {
  own.add(chunk.buffer);
}

/** The chunk itself if its memory may be given away, else a copy. */
export function toOwn(chunk: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer } = chunk;
  const isOwn = own.has(buffer) && buffer instanceof ArrayBuffer && chunk.byteLength === buffer.byteLength;
  return isOwn ? new Uint8Array(buffer) : new Uint8Array(chunk);
}
