import { Rejection, type RejectionReason } from '../rest/rejection.ts';
import { checkValue, type Field } from './field.ts';
import type { Values } from './resource.ts';
import { readDefaults } from './state.ts';

/** Maximum number of reasons in one error body. */
const REASONS_MAX = 20;
const KEY_LENGTH_MAX = 100;

/** Checks what a client sent against the fields; collects all faults, each with its parameter. */
export class ValueCheck {
  readonly #reasons: RejectionReason[] = [];

  /** The faults found so far. */
  get fault(): Rejection | undefined {
    return this.#reasons.length > 0 ? new Rejection(400, this.#reasons) : undefined;
  }

  add(key: string, text: string): void {
    if (this.#reasons.length < REASONS_MAX) this.#reasons.push({ key: key.slice(0, KEY_LENGTH_MAX), text });
  }

  /** Returns the values of a new entry: those given, and defaults for the rest. */
  complete(fields: readonly Field[], given: Readonly<Record<string, unknown>>): Values {
    for (const { name, required } of fields) {
      if (required && !Object.hasOwn(given, name)) this.add(name, 'is required');
    }
    return this.merge(fields, readDefaults(fields), given);
  }

  /** Returns the values of an existing entry, updated with those given. */
  merge(fields: readonly Field[], values: Values, given: Readonly<Record<string, unknown>>): Values {
    const merged: Record<string, string> = { ...values };
    for (const [name, value] of Object.entries(given)) {
      const field = fields.find((one) => one.name === name);
      const text = field ? checkValue(field, value) : 'unknown parameter';
      if (text === undefined) merged[name] = value as string;
      else this.add(name, text);
    }
    return merged;
  }
}
