import * as fc from 'fast-check';

/** Places to cut a text at, as shares of its length. */
export const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 });

/** Cuts bytes into chunks: at these shares of the length, or every so many bytes. Empty chunks are possible. */
export function cutInto(bytes: Uint8Array, at: readonly number[] | number): Uint8Array[] {
  const places =
    typeof at === 'number'
      ? Array.from({ length: Math.ceil(bytes.length / at) }, (_, index) => index * at)
      : at.map((share) => Math.floor(share * bytes.length)).toSorted((a, b) => a - b);
  const bounds = [0, ...places, bytes.length];
  // Each chunk is a copy of its own, so that reading beyond its end is detected.
  return bounds.slice(1).map((end, index) => bytes.slice(bounds[index], end));
}

/** A body that arrives chunk by chunk. */
export async function* bodyOf(chunks: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* chunks;
}
