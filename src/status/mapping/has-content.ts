/** Maximum number of values examined; a larger document certainly has content. */
const VALUES_MAX = 10_000;
/** Values of a field that mean "nothing". */
const NOTHING: ReadonlySet<unknown> = new Set([undefined, null, '', '---']);

/** Returns true if a document contains any information: a text, number or flag. An empty list contains none. */
export function hasContent(document: unknown): boolean {
  const waiting: unknown[] = [document];
  for (let looked = 0; waiting.length > 0; looked++) {
    const value = waiting.pop();
    if (looked >= VALUES_MAX) return true;
    if (typeof value === 'object' && value !== null) {
      for (const inner of Object.values(value)) waiting.push(inner);
    } else if (!NOTHING.has(typeof value === 'string' ? value.trim() : value)) return true;
  }
  return false;
}
