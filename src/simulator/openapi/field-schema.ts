import type { Field } from '../configuration/field.ts';
import { choiceSchema, type Schema, textSchema } from './schema.ts';

const WHOLE_NUMBER = '0|-?[1-9]\\d{0,14}';

/**
 * The texts that a field may have. Numbers are texts too, so their bounds can only be said in words; so can what makes a
 * host name or an email address.
 */
function renderFieldSchema(field: Field): Schema {
  const mayBeEmpty = field.default === '' && !field.required;
  switch (field.type) {
    case 'string':
    case 'peer':
    case 'passwd':
      return textSchema({
        maxLength: field.maxLen,
        ...(!mayBeEmpty && { minLength: 1 }),
        ...(field.type === 'peer' && { description: 'A host name or an IP address' }),
        ...(field.type === 'passwd' && { description: 'A secret' }),
      });
    case 'email_addr':
      return textSchema({ ...(!mayBeEmpty && { minLength: 1 }), description: 'An email address' });
    case 'checkbox':
      return choiceSchema(mayBeEmpty ? ['', '0', '1'] : ['0', '1']);
    case 'radio': {
      const values = field.items.map(({ value }) => value);
      return choiceSchema(mayBeEmpty ? [...new Set(['', ...values])] : values);
    }
    case 'int': {
      const { min, max, steps } = field;
      return textSchema({
        pattern: `^(?:${mayBeEmpty ? '|' : ''}${WHOLE_NUMBER})$`,
        description: `A whole number from ${min} to ${max}${steps === 1 ? '' : ` in steps of ${steps}`}`,
      });
    }
    default:
      return field satisfies never;
  }
}

/** The properties of an object whose values are those of `fields`. */
export function renderFieldSchemas(fields: readonly Field[]): Readonly<Record<string, Schema>> {
  return Object.fromEntries(fields.map((field) => [field.name, renderFieldSchema(field)]));
}
