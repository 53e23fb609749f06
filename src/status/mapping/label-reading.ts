import type { Labels } from '../../model/index.ts';
import type { MappingFaultReason } from './mapping-fault.ts';

/**
 * The labels of a sample, without empty ones, or the reason why there is no sample. The labels are informative unless
 * every informative field is empty: the fields of the metric's own labels or, if it has none, those of its resource. A row of
 * a list is not named when it lacks the fields that are labels of its resource, which tell it from other rows.
 */
export type LabelReading =
  | { readonly labels: Labels; readonly isTelling: boolean; readonly isNamed: boolean }
  | { readonly fault: MappingFaultReason };
