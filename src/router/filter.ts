/** One condition on the entries of a list. */
export interface Condition {
  /** A parameter of the entry. */
  readonly parameter: string;
  /** `eq`: exactly equal. `like`: contains the value, in any case. */
  readonly operator: 'eq' | 'like';
  /** Several values are alternatives. */
  readonly value: string | readonly string[];
}

/** Conditions that must all hold. */
export type Filter = readonly Condition[];

/** The condition that `parameter` is exactly `value`, or one of several. */
export function equals(parameter: string, value: string | readonly string[]): Condition {
  return { parameter, operator: 'eq', value };
}

/** The condition that `parameter` contains `value`, or one of several, in any case. */
export function contains(parameter: string, value: string | readonly string[]): Condition {
  return { parameter, operator: 'like', value };
}

/** A filter as the query parameter `filter` wants it: one object, or an array of objects that are combined with AND. */
export function renderFilter(filter: Filter): string {
  const conditions = filter.map(({ parameter, operator, value }) => ({ p: parameter, o: operator, v: value }));
  return JSON.stringify(conditions.length === 1 ? conditions[0] : conditions);
}
