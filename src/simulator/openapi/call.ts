import type { Group } from '../sessions/accounts.ts';
import { listSchema, objectSchema, type Schema, schemaRef, textSchema } from './schema.ts';

/** The methods of the interface, as the description spells them. */
export const METHODS = ['get', 'post', 'put', 'delete'] as const;

/** HTTP methods of the interface. */
export type Method = (typeof METHODS)[number];

/** Statuses of refusals that depend on the call; the others follow from what it takes and who may make it. */
type RefusalStatus = 400 | 404 | 416 | 500;

/** One call of the interface: a method of a path. */
export interface Call {
  readonly summary: string;
  readonly description?: string;
  /** Least group that may make it; `undefined` when no access token is needed. */
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

/** The responses that calls share. */
export function describeRefusals(): object {
  const refusals = Object.entries(REFUSALS).map(([status, description]) => [
    `Refusal${status}`,
    { description, content: { 'application/json': { schema: schemaRef('Refusal') } } },
  ]);
  // This one comes from below the interface, so it has no body.
  const headTooLong = { description: 'Request line and header are too long' };
  return { ...Object.fromEntries(refusals), Refusal431: headTooLong };
}

/** The body of every refusal: a list of objects of one key each, which is a parameter or a topic. */
export const refusalSchema: Schema = objectSchema({
  error: listSchema(
    { type: 'object', minProperties: 1, maxProperties: 1, additionalProperties: textSchema() },
    { minItems: 1 },
  ),
});

/** The Operation Object of a call. `path` and `method` give its identifier, the first part of the path its tag. */
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

/** A success that carries JSON. */
export function jsonAnswer(description: string, schema: Schema): object {
  return { description, content: { 'application/json': { schema } } };
}

/** A parameter of the query. */
export function queryParameter(name: string, description: string, schema: Schema, isRequired = false): object {
  return { name, in: 'query', description, required: isRequired, schema };
}
