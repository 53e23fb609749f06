/** A part of a file; `to` is exclusive. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/**
 * Parses a `Range` header for a file of `length` bytes: one range of bytes. `undefined` means the whole file, also for
 * what is no such header (several ranges included), as the HTTP standard allows.
 */
export function parseRange(header: string | undefined, length: number): ByteRange | 'unsatisfiable' | undefined {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '');
  if (!match) return undefined;
  const [, first = '', last = ''] = match;
  if (first === '' && last === '') return undefined;
  if (first === '') {
    const suffix = Math.min(Number(last), length);
    return suffix === 0 ? 'unsatisfiable' : { from: length - suffix, to: length };
  }
  const from = Number(first);
  const to = last === '' ? length : Math.min(Number(last) + 1, length);
  if (last !== '' && Number(last) < from) return undefined;
  return from >= length ? 'unsatisfiable' : { from, to };
}
