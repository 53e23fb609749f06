/** A class of arrays of numbers. */
interface NumbersClass<Numbers> {
  readonly BYTES_PER_ELEMENT: number;
  new (buffer: ArrayBuffer, byteOffset: number, length: number): Numbers;
}

/** Small enough that one array that stays keeps little of what left. Bytes. */
const SHARED_BYTES = 16 * 1024;
const ALIGNED_BYTES = Float64Array.BYTES_PER_ELEMENT;

let shared = new ArrayBuffer(0);
let used = 0;

/**
 * Creates a small array of zeros in memory that it shares with those that are created before and after it. Memory of its own is
 * outside of the heap: while much of that is in use, as for a large file, V8 marks the heap for 5 to 10 ms each time more is
 * allocated, however little; and a turn of the event loop creates dozens of these.
 */
export function createNumbers<Numbers>(kind: NumbersClass<Numbers>, length: number): Numbers {
  const bytes = length * kind.BYTES_PER_ELEMENT;
  if (bytes > SHARED_BYTES) return new kind(new ArrayBuffer(bytes), 0, length);
  if (used + bytes > shared.byteLength) {
    shared = new ArrayBuffer(SHARED_BYTES);
    used = 0;
  }
  const numbers = new kind(shared, used, length);
  used += Math.ceil(bytes / ALIGNED_BYTES) * ALIGNED_BYTES;
  return numbers;
}
