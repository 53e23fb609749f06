import { Rejection } from './rejection.ts';

/** Returns true if a decoded value is a JSON object. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the object in a request's body, or the reason why there is none. Keys not in `known` are rejected. */
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

/** Maximum number of faults in an error body, however much was sent. */
const FAULTS_MAX = 20;
const KEY_LENGTH_MAX = 100;
