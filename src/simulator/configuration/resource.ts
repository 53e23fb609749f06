import type { Field } from './field.ts';

/** Values by parameter. */
export type Values = Readonly<Record<string, string>>;

/** An entry that a fresh device has; what it leaves out has its field's default. */
export interface FreshEntry {
  readonly fields: Values;
  readonly sublist?: readonly Values[];
}

/** The list of a resource. */
export interface ListDefinition {
  /** Names that the router gives are this word and a number from 1. */
  readonly indexPrefix: string;
  /**
   * Under what an entry shows the name that the router gave it. Default `name`; a list that has a field `name` uses it as
   * the default of that field.
   */
  readonly nameKey?: 'index' | 'name';
  readonly fields: readonly Field[];
  /** Fields of the lists within the entries; absent = entries hold none. */
  readonly sublist?: readonly Field[];
  /** Parameter that no two entries may share. */
  readonly key?: string;
  readonly fresh?: readonly FreshEntry[];
}

/** One configuration resource: single parameters, a list, or both. */
export interface ResourceDefinition {
  /** `<section>/<resource>`; some resources lie one level deeper. */
  readonly path: string;
  readonly unique: readonly Field[];
  readonly list?: ListDefinition;
  /** Only routers with this card have the resource. */
  readonly card?: string;
}
