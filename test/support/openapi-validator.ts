import { dereference } from '@readme/openapi-parser';
import { Ajv, type ValidateFunction } from 'ajv';

/** An answer as a client saw it. */
export interface SeenAnswer {
  readonly method: string;
  /** Below the root of the interface; a query may follow. */
  readonly path: string;
  readonly status: number;
  /** As in the header, parameters included. */
  readonly contentType: string | undefined;
  readonly body: Buffer;
}

/** Says whether what was seen on the wire is what a description allows. */
export interface OpenApiValidator {
  /**
   * Why the description does not allow an answer; `undefined` when it does. What the description does not list, a router
   * has to refuse with the body of every refusal.
   */
  explainAnswer(answer: SeenAnswer): string | undefined;
  /** Why the description does not allow the JSON body of a request; `undefined` when it does. */
  explainRequest(method: string, path: string, body: string): string | undefined;
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}

interface Operation {
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
}

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

/** Keywords of OpenAPI 3.0 that say nothing about which values are allowed. */
const ANNOTATIONS = ['discriminator', 'example', 'externalDocs', 'xml'];

/** Opens a validator for an OpenAPI 3.0 description whose refusals are its component `Refusal`. */
export async function openOpenApiValidator(description: object): Promise<OpenApiValidator> {
  // References are replaced in place, and the caller's copy is none of our business.
  const { paths, components } = (await dereference(structuredClone(description) as never)) as unknown as Description;
  const ajv = new Ajv({ allErrors: true, strict: true, strictRequired: false, formats: { binary: true } });
  ajv.addVocabulary(ANNOTATIONS);
  const compiled = new WeakMap<object, ValidateFunction>();
  const explain = (schema: object, text: string): string | undefined => {
    const value = parseJson(text);
    if (value === undefined) return `the body is no JSON: ${text.slice(0, 100)}`;
    const validate = compiled.get(schema) ?? ajv.compile(schema);
    compiled.set(schema, validate);
    return validate(value.json) ? undefined : ajv.errorsText(validate.errors, { dataVar: 'body' });
  };
  const find = (method: string, path: string): Operation | undefined =>
    paths[path.split('?')[0] ?? '']?.[method.toLowerCase()];

  const explainListed = (operation: Operation, { status, contentType, body }: SeenAnswer): string | undefined => {
    const response = operation.responses[status];
    if (!response) return `the status is none of ${Object.keys(operation.responses).join(', ')}`;
    if (!response.content) {
      const isEmpty = body.length === 0 && contentType === undefined;
      return isEmpty ? undefined : `a body (${body.length} bytes, ${contentType}) is not described`;
    }
    const type = contentType?.split(';')[0];
    const media = response.content[type ?? ''];
    if (!media) return `the content type ${type} is none of ${Object.keys(response.content).join(', ')}`;
    return type === 'application/json' ? explain(media.schema, body.toString()) : undefined;
  };
  const explainUnlisted = ({ status, contentType, body }: SeenAnswer): string | undefined => {
    if (status < 400 || status > 499) return 'the description does not list this call, and it is not refused';
    if (contentType !== 'application/json') return `a refusal has the content type ${contentType}`;
    return explain(components.schemas['Refusal'] ?? {}, body.toString());
  };
  return {
    explainAnswer(answer) {
      const operation = find(answer.method, answer.path);
      const reason = operation ? explainListed(operation, answer) : explainUnlisted(answer);
      return reason && `${answer.method} ${answer.path} answered ${answer.status}: ${reason}`;
    },
    explainRequest(method, path, body) {
      const schema = find(method, path)?.requestBody?.content?.['application/json']?.schema;
      const reason = schema ? explain(schema, body) : 'the description lists no body for this call';
      return reason && `${method} ${path}: ${reason}`;
    },
  };
}

function parseJson(text: string): { readonly json: unknown } | undefined {
  try {
    return { json: JSON.parse(text) };
  } catch {
    return undefined;
  }
}
