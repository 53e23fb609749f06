import { isIP } from 'node:net';

interface FieldBase {
  readonly name: string;
  /** Default for a fresh device and for entries added without this value. */
  readonly default: string;
  /** True if an entry needs a non-empty value. */
  readonly required?: boolean;
  /** True if it never appears in answers and cannot be filtered. */
  readonly writeOnly?: boolean;
}

interface RadioItem {
  readonly value: string;
  readonly label: string;
}

/** One parameter of a resource. All values are strings; the type defines which ones are allowed. */
export type Field = FieldBase &
  (
    | { readonly type: 'string' | 'peer' | 'passwd'; readonly maxLen: number }
    | { readonly type: 'email_addr' | 'checkbox' }
    | { readonly type: 'radio'; readonly items: readonly RadioItem[] }
    | { readonly type: 'int'; readonly min: number; readonly max: number; readonly steps: number }
  );

type Extra = Partial<Pick<FieldBase, 'default' | 'required' | 'writeOnly'>>;

/** Limit of most text parameters of the device. */
const TEXT_LENGTH_MAX = 100;
const HOST_NAME = /^(?!-)[A-Za-z0-9_-]{1,63}(?<!-)(\.(?!-)[A-Za-z0-9_-]{1,63}(?<!-))*\.?$/;
const EMAIL = /^[^\s@]{1,64}@[^\s@]{1,253}$/;
/** Line feeds and tabs are allowed in message texts; other control characters nowhere. */
const CONTROL_IN_TEXT = /[^\P{Cc}\n\t]/u;
const CONTROL = /\p{Cc}/u;

export const text = (name: string, extra: Extra & { maxLen?: number } = {}): Field => ({
  name,
  type: 'string',
  default: '',
  maxLen: TEXT_LENGTH_MAX,
  ...extra,
});
export const peer = (name: string, extra: Extra & { maxLen?: number } = {}): Field => ({
  name,
  type: 'peer',
  default: '',
  maxLen: TEXT_LENGTH_MAX,
  ...extra,
});
export const passwd = (name: string, extra: Extra & { maxLen?: number } = {}): Field => ({
  name,
  type: 'passwd',
  default: '',
  maxLen: TEXT_LENGTH_MAX,
  ...extra,
});
export const emailAddr = (name: string, extra: Extra = {}): Field => ({
  name,
  type: 'email_addr',
  default: '',
  ...extra,
});
export const checkbox = (name: string, value: '0' | '1' | '' = '0'): Field => ({
  name,
  type: 'checkbox',
  default: value,
});
/** The first value is the default unless `extra` sets another. */
export const radio = (name: string, values: readonly string[], extra: Extra = {}): Field => ({
  name,
  type: 'radio',
  default: values[0] ?? '',
  items: values.map((value) => ({ value, label: value })),
  ...extra,
});
export const int = (name: string, min: number, max: number, value: number | '', steps = 1): Field => ({
  name,
  type: 'int',
  min,
  max,
  steps,
  default: String(value),
});

/** Returns the fault of a value, which may be any JSON value; `undefined` if it is allowed. */
export function checkValue(field: Field, value: unknown): string | undefined {
  if (typeof value !== 'string') return 'must be a string';
  if (value === '') return field.default === '' && !field.required ? undefined : 'must not be empty';
  switch (field.type) {
    case 'string':
      return checkText(value, field.maxLen, CONTROL_IN_TEXT);
    case 'passwd':
      return checkText(value, field.maxLen, CONTROL);
    case 'peer':
      if (!isIP(value) && !HOST_NAME.test(value)) return 'must be a host name or an IP address';
      return checkText(value, field.maxLen, CONTROL);
    case 'email_addr':
      return EMAIL.test(value) && !CONTROL.test(value) ? undefined : 'must be an email address';
    case 'checkbox':
      return value === '0' || value === '1' ? undefined : 'must be "0" or "1"';
    case 'radio': {
      const values = field.items.map((item) => item.value);
      return values.includes(value) ? undefined : `must be one of ${values.join(', ')}`;
    }
    case 'int':
      return checkInteger(value, field.min, field.max, field.steps);
    default:
      return field satisfies never;
  }
}

/** Describes a field as the interface does: name, type and bounds. */
export function renderDescriptor(field: Field): object {
  const { name, type } = field;
  switch (type) {
    case 'string':
    case 'peer':
    case 'passwd':
      return { name, type, max_len: field.maxLen };
    case 'int':
      return { name, type, min: field.min, max: field.max, steps: field.steps };
    case 'radio':
      return { name, type, items: field.items.map(({ value, label }) => ({ value, translate: true, label })) };
    case 'email_addr':
    case 'checkbox':
      return { name, type };
    default:
      return type satisfies never;
  }
}

function checkText(value: string, maxLen: number, forbidden: RegExp): string | undefined {
  if (Array.from(value).length > maxLen) return `must not be longer than ${maxLen} characters`;
  return forbidden.test(value) ? 'must not contain control characters' : undefined;
}

function checkInteger(value: string, min: number, max: number, steps: number): string | undefined {
  if (!/^(?:0|-?[1-9]\d{0,14})$/.test(value)) return 'must be a whole number';
  const number = Number(value);
  if (number < min || number > max) return `must be from ${min} to ${max}`;
  return (number - min) % steps === 0 ? undefined : `must be ${min} or steps of ${steps} above it`;
}

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
  /** Key of the assigned name in an entry. Default `name`; a list with a field `name` uses the assigned name as that field's default. */
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
