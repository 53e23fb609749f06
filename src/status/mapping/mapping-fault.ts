/**
 * Reasons why a value became no sample, or an unknown one.
 *
 * `unknown_form`: a text that is no number and nothing else that is understood. `unknown_unit`: a number with a unit that is
 * not known or was not declared. `other_form`: a value of a known form or unit that the metric does not declare, and that no
 * other metric reads. `unknown_text`: a text that is not in `map`. `unknown_state`: one that is not in `states`. `too_long`:
 * a text beyond any real one. `not_plain`: a list or an object. `not_finite`: a number beyond all bounds. `negative`: a
 * counter below zero. `too_many`: rows, fields or samples beyond their bounds. `duplicate`: another value for a series that
 * is there already, because two rows have the same labels or two modules make it; the first one is kept. `unnamed`: a value
 * in a row of a list without the fields that its resource has as labels, which tell it from other rows.
 */
export const MAPPING_FAULT_REASONS = [
  'unknown_form',
  'unknown_unit',
  'other_form',
  'unknown_text',
  'unknown_state',
  'too_long',
  'not_plain',
  'not_finite',
  'negative',
  'too_many',
  'duplicate',
  'unnamed',
] as const;
/** Reasons for which a value does not become a sample. */
export type MappingFaultReason = (typeof MAPPING_FAULT_REASONS)[number];

/** Part of a document that could not become a sample. The value itself is not included: it may be a secret. */
export interface MappingFault {
  readonly module: string;
  readonly metric: string;
  readonly reason: MappingFaultReason;
}
