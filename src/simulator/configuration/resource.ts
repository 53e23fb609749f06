import type { Field } from './field.ts';

/** Values by parameter. */
export type Values = Readonly<Record<string, string>>;

/** An entry of a fresh device; missing values are the fields' defaults. */
export interface FreshEntry {
  readonly fields: Values;
  readonly sublist?: readonly Values[];
}

/** The list of a resource. */
export interface ListDefinition {
  /** The router assigns names of this word and a number from 1. */
  readonly indexPrefix: string;
  /**
   * Key of the assigned name in an entry. Default `name`; a list with a field `name` uses the assigned name as that
   * field's default.
   */
  readonly nameKey?: 'index' | 'name';
  readonly fields: readonly Field[];
  /** Fields of the sublists; absent if entries have none. */
  readonly sublist?: readonly Field[];
  /** Parameter that must be unique among the entries. */
  readonly key?: string;
  readonly fresh?: readonly FreshEntry[];
}

/** One configuration resource: single parameters, a list, or both. */
export interface ResourceDefinition {
  /** `<section>/<resource>`; some resources are one level deeper. */
  readonly path: string;
  readonly unique: readonly Field[];
  readonly list?: ListDefinition;
  /** Only routers with this card have the resource. */
  readonly card?: string;
}
