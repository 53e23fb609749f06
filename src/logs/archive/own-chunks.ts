/** Memory that a decoding thread has filled with one chunk: nobody else uses it. */
const own = new WeakSet<ArrayBufferLike>();

/** Notes that a decoding thread made this chunk: it is alone in its memory, which its reader may give away. */
export function markOwn(chunk: Uint8Array): void {
  own.add(chunk.buffer);
}

/** True if a decoding thread made this chunk. */
export function isOwn(chunk: Uint8Array): boolean {
  return own.has(chunk.buffer);
}

/** The chunk in memory that may be given away: its own, or a copy. */
export function toOwn(chunk: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer } = chunk;
  const isWhole = chunk.byteLength === buffer.byteLength && buffer instanceof ArrayBuffer;
  return isWhole && own.has(buffer) ? new Uint8Array(buffer) : new Uint8Array(chunk);
}
