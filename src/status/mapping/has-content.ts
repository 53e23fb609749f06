/** Values of a document that are looked at; beyond that it certainly has content. */
const VALUES_MAX = 10_000;
/** What a field says when there is nothing to say. */
const NOTHING: ReadonlySet<unknown> = new Set([undefined, null, '', '---']);

/** Whether a document says anything: a text, number or flag anywhere in it. An empty list says nothing. */
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
