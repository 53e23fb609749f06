import { isPlainObject, readInteger, readString } from '../base/index.ts';

/** Values that a parameter of a configuration resource may have. */
export interface ParameterScheme {
  readonly name: string;
  /** One of {@link SCHEME_TYPES} on known firmware; other types are kept and not checked. */
  readonly type: string;
  /** Characters. */
  readonly maxLength: number | undefined;
  /** Bounds and step of an `int`. */
  readonly min: number | undefined;
  readonly max: number | undefined;
  readonly step: number | undefined;
  readonly items: readonly SchemeItem[] | undefined;
}

/** Schemes of the parameters of one resource. */
export interface ResourceScheme {
  readonly unique: readonly ParameterScheme[];
  /** Empty for a resource without a list. */
  readonly list: readonly ParameterScheme[];
  /** Empty if entries have no sublist. */
  readonly sublist: readonly ParameterScheme[];
}

/** A choice, as listed by `append_scheme`. */
interface SchemeItem {
  readonly value: string;
  readonly label: string;
  /** True if the label is a key of the web interface's translations. */
  readonly isTranslated: boolean;
}

/** Types of parameters in the interface document. */
export const SCHEME_TYPES = ['email_addr', 'string', 'peer', 'radio', 'checkbox', 'int', 'passwd'] as const;

interface SchemeFault {
  readonly parameter: string;
  /** Without the value itself, which may be a secret. */
  readonly message: string;
}

/** The largest known resource has about a hundred. */
const DESCRIPTORS_MAX = 2000;

/**
 * Decodes `scheme.parameters` of an answer to a GET with `append_scheme=1`. Descriptors without name or type are left out; unknown fields
 * are ignored. Source: interface document, "Scheme object". It shows only `unique`; the names `list` and `sublist` are inferred from the
 * parts of the configuration.
 */
export function decodeScheme(scheme: unknown): ResourceScheme {
  const parameters = isPlainObject(scheme) ? scheme['parameters'] : undefined;
  const decode = (part: string) => (isPlainObject(parameters) ? decodeDescriptors(parameters[part]) : []);
  return { unique: decode('unique'), list: decode('list'), sublist: decode('sublist') };
}

function decodeDescriptors(descriptors: unknown): readonly ParameterScheme[] {
  if (!Array.isArray(descriptors)) return [];
  return descriptors.slice(0, DESCRIPTORS_MAX).flatMap((descriptor: unknown) => {
    if (!isPlainObject(descriptor)) return [];
    const name = readString(descriptor, 'name');
    const type = readString(descriptor, 'type');
    if (name === undefined || type === undefined) return [];
    return {
      name,
      type,
      maxLength: readInteger(descriptor, 'max_len'),
      min: readInteger(descriptor, 'min'),
      max: readInteger(descriptor, 'max'),
      step: readInteger(descriptor, 'steps'),
      items: decodeItems(descriptor['items']),
    };
  });
}

function decodeItems(items: unknown): readonly SchemeItem[] | undefined {
  if (!Array.isArray(items)) return undefined;
  return items.flatMap((item: unknown) => {
    if (!isPlainObject(item)) return [];
    const value = readString(item, 'value');
    if (value === undefined) return [];
    return { value, label: readString(item, 'label') ?? value, isTranslated: item['translate'] === true };
  });
}

/** Checks values against their schemes. Values without a scheme are faults; unknown types are not checked. */
export function checkValues(
  values: Readonly<Record<string, string>>,
  schemes: readonly ParameterScheme[],
): readonly SchemeFault[] {
  const byName = new Map(schemes.map((scheme) => [scheme.name, scheme]));
  return Object.entries(values).flatMap(([parameter, value]) => {
    const scheme = byName.get(parameter);
    const message = scheme ? findFault(value, scheme) : 'The resource has no such parameter';
    return message === undefined ? [] : { parameter, message };
  });
}

/** An empty value means "not set" for every type. */
function findFault(value: string, scheme: ParameterScheme): string | undefined {
  const { maxLength, type } = scheme;
  if (value === '') return undefined;
  if (maxLength !== undefined && countCharacters(value) > maxLength) return `Expected at most ${maxLength} characters`;
  switch (type) {
    case 'int':
      return findIntegerFault(value, scheme);
    case 'checkbox':
      return value === '0' || value === '1' ? undefined : 'Expected "0" or "1"';
    case 'radio':
      return findChoiceFault(value, scheme);
    case 'email_addr':
      return /^[^\s@]+@[^\s@]+$/.test(value) ? undefined : 'Expected an e-mail address';
    case 'peer':
      return /^[^\s/]+$/.test(value) ? undefined : 'Expected a host name or an IP address';
    default:
      return undefined;
  }
}

/** The device presumably counts code points. */
function countCharacters(text: string): number {
  return Array.from(text).length;
}

function findIntegerFault(value: string, { min, max, step }: ParameterScheme): string | undefined {
  const range = `from ${min ?? '-∞'} to ${max ?? '∞'}`;
  if (!/^-?\d{1,15}$/.test(value)) return `Expected a whole number ${range}`;
  const number = Number(value);
  if (number < (min ?? -Infinity) || number > (max ?? Infinity)) return `Expected a whole number ${range}`;
  if (step !== undefined && step > 1 && (number - (min ?? 0)) % step !== 0)
    return `Expected steps of ${step}, ${range}`;
  return undefined;
}

function findChoiceFault(value: string, { items }: ParameterScheme): string | undefined {
  if (!items || items.some((item) => item.value === value)) return undefined;
  return `Expected one of ${items.map((item) => JSON.stringify(item.value)).join(', ')}`;
}
