/** One reason of a rejection: a parameter or a topic, and the fault. */
export interface RejectionReason {
  readonly key: string;
  readonly text: string;
}

/** The reasons for a rejected request. A value, not an exception: rejections are normal answers. */
export class Rejection {
  readonly status: 400 | 401 | 403 | 404 | 405 | 413 | 416 | 429 | 500 | 503;
  readonly reasons: readonly RejectionReason[];

  constructor(status: Rejection['status'], reasons: readonly RejectionReason[]) {
    this.status = status;
    this.reasons = reasons;
  }

  /** Creates a rejection with one reason. */
  static of(status: Rejection['status'], key: string, text: string): Rejection {
    return new Rejection(status, [{ key, text }]);
  }

  /** Returns the interface's error body: a list of objects with one key. */
  toBody(): { readonly error: readonly Readonly<Record<string, string>>[] } {
    return { error: this.reasons.map(({ key, text }) => ({ [key]: text })) };
  }
}

/** Returns true for a JSON object. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Parses the object in a request's body. Keys not in `known` are rejected. */
export function parseJsonObject(
  body: string | Rejection,
  known: readonly string[],
): Readonly<Record<string, unknown>> | Rejection {
  if (body instanceof Rejection) return body;
  if (body === '') return Rejection.of(400, 'content', 'no content provided');
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return Rejection.of(400, 'json', 'malformed JSON');
  }
  if (!isRecord(value)) return Rejection.of(400, 'json', 'an object is expected');
  const unknown = Object.keys(value).filter((key) => !known.includes(key));
  if (unknown.length === 0) return value;
  return new Rejection(
    400,
    unknown.slice(0, FAULTS_MAX).map((key) => ({ key: key.slice(0, KEY_LENGTH_MAX), text: 'unknown parameter' })),
  );
}

/** Of one error body. */
const FAULTS_MAX = 20;
const KEY_LENGTH_MAX = 100;
