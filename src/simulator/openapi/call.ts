import type { Field } from '../configuration/resource.ts';
import type { Group } from '../device/sessions.ts';

/** A JSON schema in the dialect of OpenAPI 3.0. */
export type Schema = Readonly<Record<string, unknown>>;

/** Returns the schema of a string within the given bounds. */
export function textSchema(bounds: Schema = {}): Schema {
  return { type: 'string', ...bounds };
}

/** Returns the schema of a string out of a closed set. */
export function choiceSchema(values: readonly string[]): Schema {
  return { type: 'string', enum: [...values] };
}

/** Returns the schema of an object with exactly these properties; all are required except those in `optional`. */
export function objectSchema(properties: Readonly<Record<string, Schema>>, optional: readonly string[] = []): Schema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  // The dialect forbids an empty list of required properties.
  return { type: 'object', properties, ...(required.length > 0 && { required }), additionalProperties: false };
}

/** Returns the schema of an object with only these properties, all optional. */
export function partialSchema(properties: Readonly<Record<string, Schema>>): Schema {
  return objectSchema(properties, Object.keys(properties));
}

/** Returns the schema of a list of equal items. */
export function listSchema(items: Schema, bounds: Schema = {}): Schema {
  return { type: 'array', items, ...bounds };
}

/** Returns a reference to a schema of the components. */
export function schemaRef(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

const WHOLE_NUMBER = '0|-?[1-9]\\d{0,14}';

/** Numbers are strings, so their bounds can only be described in words, like the form of host names and email addresses. */
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

/** Returns the properties of an object with the values of `fields`. */
export function renderFieldSchemas(fields: readonly Field[]): Readonly<Record<string, Schema>> {
  return Object.fromEntries(fields.map((field) => [field.name, renderFieldSchema(field)]));
}

/** HTTP methods of the interface, as the description spells them. */
export const METHODS = ['get', 'post', 'put', 'delete'] as const;

type Method = (typeof METHODS)[number];

/** Refusals that depend on the call; the others follow from its parameters and its group. */
type RefusalStatus = 400 | 404 | 416 | 500;

/** One call of the interface: a method of a path. */
export interface Call {
  readonly summary: string;
  readonly description?: string;
  /** Minimum group of the account; `undefined` if no access token is needed. */
  readonly group: Group | undefined;
  readonly parameters?: readonly object[];
  /** Schema of the JSON that is sent. */
  readonly requestBody?: Schema;
  /** Successful answers by status. */
  readonly success: Readonly<Record<number, object>>;
  readonly refusals: readonly RefusalStatus[];
}

/** All calls of one path. */
export type PathCalls = Partial<Record<Method, Call>>;

const REFUSALS: Readonly<Record<number, string>> = {
  400: 'The request is not correct; one reason for each parameter that is wrong',
  401: 'The credentials or the token do not count',
  403: "The account's group does not allow this",
  404: 'There is nothing of this name on this router',
  413: 'The body is too large',
  416: 'The range lies behind the end of the file',
  500: 'The change could not be activated',
};

/** Returns the responses shared by the calls. */
export function describeRefusals(): object {
  const refusals = Object.entries(REFUSALS).map(([status, description]) => [
    `Refusal${status}`,
    { description, content: { 'application/json': { schema: schemaRef('Refusal') } } },
  ]);
  // The server answers this one below the interface, so it has no body.
  const headTooLong = { description: 'Request line and header are too long' };
  return { ...Object.fromEntries(refusals), Refusal431: headTooLong };
}

/** The body of every refusal: a list of objects with one key, which is a parameter or a topic. */
export const refusalSchema: Schema = objectSchema({
  error: listSchema(
    { type: 'object', minProperties: 1, maxProperties: 1, additionalProperties: textSchema() },
    { minItems: 1 },
  ),
});

/** Renders the Operation Object of a call. `path` and `method` give its identifier, the first part of the path its tag. */
export function renderCall(path: string, method: Method, call: Call): object {
  const { summary, description, group, parameters = [], requestBody, success, refusals } = call;
  const statuses = [
    ...refusals,
    401,
    ...(group === undefined || group === 'status' ? [] : [403]),
    ...(requestBody ? [413] : []),
    ...(parameters.length > 0 ? [431] : []),
  ].toSorted((one, other) => one - other);
  const needs = {
    readwrite: 'For accounts of the group readwrite.',
    read: 'For accounts of the group read or readwrite.',
    status: undefined,
  }[group ?? 'status'];
  const words = [description, needs].filter((one) => one !== undefined).join(' ');
  return {
    operationId: `${method}${path.replaceAll(/\W/g, '_')}`,
    tags: [path.split('/')[1]],
    summary,
    ...(words !== '' && { description: words }),
    ...(parameters.length > 0 && { parameters }),
    ...(requestBody && { requestBody: { required: true, content: { 'application/json': { schema: requestBody } } } }),
    responses: {
      ...success,
      ...Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/Refusal${status}` }])),
    },
    ...(group === undefined && { security: [] }),
  };
}

/** Returns a successful answer with JSON. */
export function jsonAnswer(description: string, schema: Schema): object {
  return { description, content: { 'application/json': { schema } } };
}

/** Returns a parameter of the query. */
export function queryParameter(name: string, description: string, schema: Schema, isRequired = false): object {
  return { name, in: 'query', description, required: isRequired, schema };
}
