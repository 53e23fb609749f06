import { dereference } from '@readme/openapi-parser';
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';

/** A request and its answer, as they crossed the wire. */
export interface Exchange {
  readonly method: string;
  /** Below the root of the interface, without the query. */
  readonly path: string;
  readonly query: readonly (readonly [string, string])[];
  /** `undefined` when none was sent. */
  readonly requestBody: string | undefined;
  readonly status: number;
  /** As in the header, parameters included. */
  readonly contentType: string | undefined;
  readonly body: Buffer;
}

/** What an OpenAPI description of routers says about exchanges. */
export interface OpenApiContract {
  /** Everything about an exchange that the description does not allow; empty when it allows all of it. */
  check(exchange: Exchange): readonly string[];
}

type Json = Readonly<Record<string, unknown>>;

interface Media {
  readonly schema?: Json;
}

interface Operation {
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly schema?: Json;
  }[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Media>> }>>;
}

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** Names in list entries that are part of the interface, and no parameters of a resource. */
const ENTRY_NAMES = ['list_uid', 'index', 'sublist', 'sublist_uid'];
/** Keywords that say nothing about which values are allowed, or that are applied in another way. */
const DROPPED = new Set(['example', 'description', 'discriminator', 'xml', 'externalDocs', 'format']);

/** Where in a body a schema applies: which parameters a resource has is a matter of the device, all else of the interface. */
type Place = 'plain' | 'config' | 'list' | 'parameters';
const PLACES: Readonly<Record<string, Place>> = {
  'plain/config': 'config',
  'config/unique': 'parameters',
  'config/list': 'list',
};

/**
 * Opens the contract that an OpenAPI 3.0 description is. It is taken more strictly than its keywords say, because those of
 * real devices leave much open: properties that an object does not list are refused, except names of parameters of a
 * configuration resource, of which simulated routers have fewer and partly others; bounds of numbers hold for texts that are
 * numbers; of alternatives (`oneOf`) at least one must fit.
 */
export async function openOpenApiContract(document: object): Promise<OpenApiContract> {
  const { paths } = (await dereference(structuredClone(document) as never)) as unknown as Description;
  const ajv = new Ajv({ allErrors: true, strict: false });
  ajv.addKeyword({
    keyword: 'numberText',
    schemaType: 'object',
    errors: false,
    validate: (bounds: NumberBounds, text: unknown) => typeof text !== 'string' || fits(bounds, text),
  });
  const compiled = new Map<object, ValidateFunction>();
  const explain = (what: string, schema: Json, value: unknown): string[] => {
    const validate = compiled.get(schema) ?? ajv.compile(toStrict(schema, 'plain'));
    compiled.set(schema, validate);
    return validate(value) ? [] : (validate.errors ?? []).map((error) => `${what}${renderError(error)}`);
  };
  const explainText = (what: string, schema: Json, text: string): string[] => {
    const parsed = parseJson(text);
    return parsed ? explain(what, schema, parsed.json) : [`${what} is no JSON`];
  };
  const checkRequest = (
    { parameters = [], requestBody }: Operation,
    query: Exchange['query'],
    sent: string | undefined,
  ): string[] => {
    const declared = parameters.filter((parameter) => parameter.in === 'query');
    const findings = declared.flatMap(({ name, required }) =>
      required && !query.some(([given]) => given === name) ? [`the query lacks ${name}`] : [],
    );
    for (const [name, value] of query) {
      const parameter = declared.find((one) => one.name === name);
      if (!parameter) findings.push(`the query parameter ${name} is not described`);
      else if (parameter.schema) findings.push(...explain(`the query parameter ${name}`, parameter.schema, value));
    }
    const media = requestBody?.content['application/json'];
    if (sent === undefined) {
      if (requestBody?.required) findings.push('the request lacks its body');
    } else if (!media) findings.push('a body of the request is not described');
    else if (media.schema) findings.push(...explainText('request', media.schema, sent));
    return findings;
  };
  return {
    check({ method, path, query, requestBody, status, contentType, body }) {
      const operation = paths[path]?.[method.toLowerCase()];
      if (!operation) return ['the operation is not described'];
      // A request that the router refuses was a mistake, most often on purpose.
      const findings = status < 400 ? checkRequest(operation, query, requestBody) : [];
      const response = operation.responses[status];
      if (!response) return [...findings, `the status ${status} is not described`];
      const type = contentType?.split(';')[0] ?? '';
      // Where no content is described, real devices send some all the same.
      if (!response.content || Object.keys(response.content).length === 0) return findings;
      const answer = response.content[type];
      if (!answer) return [...findings, `the content type ${type} is not described`];
      if (type === 'application/json') findings.push(...explainText('answer', answer.schema ?? {}, body.toString()));
      return findings;
    },
  };
}

interface NumberBounds {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly multipleOf?: number;
}

function fits({ minimum = -Infinity, maximum = Infinity, multipleOf = 1 }: NumberBounds, text: string): boolean {
  if (text === '') return true;
  const number = Number(text);
  return /^-?\d+$/.test(text) && number >= minimum && number <= maximum && number % multipleOf === 0;
}

function parseJson(text: string): { readonly json: unknown } | undefined {
  try {
    return { json: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** The same schema, as strictly as {@link openOpenApiContract} says. */
function toStrict(schema: Json, place: Place): Json {
  const { oneOf, anyOf, properties, items, minimum, maximum, multipleOf, ...others } = schema;
  const strict: Record<string, unknown> = Object.fromEntries(
    Object.entries(others).filter(([keyword]) => !DROPPED.has(keyword)),
  );
  const alternatives = (oneOf ?? anyOf) as readonly Json[] | undefined;
  if (alternatives) strict['anyOf'] = alternatives.map((one) => toStrict(one, place));
  if (others['type'] === 'string' && (minimum ?? maximum) !== undefined) {
    strict['numberText'] = { minimum, maximum, multipleOf };
  } else
    Object.assign(strict, { ...(minimum !== undefined && { minimum }), ...(maximum !== undefined && { maximum }) });
  // A parameter that is not set is an empty text, whatever it may hold otherwise.
  if (place === 'parameters' && Array.isArray(others['enum'])) strict['enum'] = [...new Set([...others['enum'], ''])];
  if (items) strict['items'] = toStrict(items as Json, place === 'list' ? 'parameters' : place);
  if (properties) {
    const own = properties as Readonly<Record<string, Json>>;
    strict['properties'] = Object.fromEntries(
      Object.entries(own).map(([name, one]) => [name, toStrict(one, PLACES[`${place}/${name}`] ?? place)]),
    );
    if (place !== 'parameters') strict['additionalProperties'] ??= false;
    else if (others['additionalProperties'] === undefined) {
      const missing = ENTRY_NAMES.filter((name) => !Object.hasOwn(own, name));
      strict['allOf'] = missing.map((name) => ({ not: { required: [name] } }));
    }
  }
  return strict;
}

function renderError({ instancePath, message, params, keyword }: ErrorObject): string {
  const { additionalProperty, allowedValues } = params as Readonly<Record<string, unknown>>;
  const detail = Array.isArray(allowedValues) ? allowedValues.join(', ') : additionalProperty;
  return `${instancePath} ${message ?? keyword}${typeof detail === 'string' ? `: ${detail}` : ''}`;
}
