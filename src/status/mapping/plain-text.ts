import type { MappingFaultReason } from './mapping-fault.ts';

/** Maximum length of a text; no real one comes close, and a hostile router must not fill memory. */
export const TEXT_LENGTH_MAX = 512;

/** A field as text, or the reason why it has none. */
export type PlainText = { readonly text: string } | { readonly fault: MappingFaultReason };

/** Returns a field's text without control characters and surrounding spaces; `undefined` if it is absent. */
export function toPlainText(value: unknown): PlainText | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'boolean') return { text: String(value) };
  if (typeof value === 'number') return Number.isFinite(value) ? { text: String(value) } : { fault: 'not_finite' };
  if (typeof value !== 'string') return { fault: 'not_plain' };
  if (value.length > TEXT_LENGTH_MAX) return { fault: 'too_long' };
  return {
    text: value
      .toWellFormed()
      .replaceAll(/\p{Cc}/gu, ' ')
      .trim(),
  };
}
