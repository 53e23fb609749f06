import { isPlainObject, parseJson, readString } from '../base/index.ts';
import { RouterError } from './errors.ts';

/** One call that a device description lists. */
export interface DescribedCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below the interface's root, as in `/status/device_info`. */
  readonly path: string;
  readonly summary: string | undefined;
}

/** Facts about the interface of one firmware version from its OpenAPI 3.0 description in JSON. */
export interface ApiDescription {
  readonly title: string | undefined;
  /** The firmware version that it describes. */
  readonly version: string | undefined;
  /** All calls of every variant of the device; a given router supports only some of them. */
  readonly calls: readonly DescribedCall[];
}

/** The known descriptions have about 1.2 MB. Characters. */
export const DESCRIPTION_LENGTH_MAX = 32 * 1024 * 1024;
const PATHS_MAX = 20_000;
const METHODS = { get: 'GET', post: 'POST', put: 'PUT', delete: 'DELETE' } as const;

/**
 * Parses the OpenAPI 3.0 description that an operator has downloaded from a router. Throws {@link RouterError} `parse`
 * when the text is not one. Source: interface document, "What the service does", 6.
 */
export function parseApiDescription(text: string): ApiDescription {
  const document = text.length > DESCRIPTION_LENGTH_MAX ? undefined : parseJson(text);
  const version = isPlainObject(document) ? readString(document, 'openapi') : undefined;
  if (!isPlainObject(document) || !version?.startsWith('3.') || !isPlainObject(document['paths'])) {
    throw new RouterError('parse', 'The text is no OpenAPI 3 description', {
      disposition: 'operator',
      hint: "Download it from the router's administration of its web and REST interface",
    });
  }
  const info = isPlainObject(document['info']) ? document['info'] : {};
  return {
    title: readString(info, 'title'),
    version: readString(info, 'version'),
    calls: Object.entries(document['paths'])
      .slice(0, PATHS_MAX)
      .flatMap(([path, item]) => describeCalls(path, item)),
  };
}

function describeCalls(path: string, item: unknown): DescribedCall[] {
  if (!isPlainObject(item) || !path.startsWith('/')) return [];
  return Object.entries(METHODS).flatMap(([field, method]) => {
    const operation = item[field];
    return isPlainObject(operation) ? { method, path, summary: readString(operation, 'summary') } : [];
  });
}
