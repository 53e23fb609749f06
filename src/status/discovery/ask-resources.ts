import type { DocumentSource } from '../contracts.ts';
import { StatusError } from '../errors.ts';
import { SilenceCount } from '../silence-count.ts';

/** What a router answers for a resource: `no_rights` is the account's, `error` anything that may be otherwise next time. */
export type ResourceAnswer = 'yes' | 'absent' | 'no_rights' | 'error';

export interface AskedResource {
  readonly resource: string;
  readonly answer: ResourceAnswer;
  /** What the source threw; of an error alone. */
  readonly error?: unknown;
}

export interface AskedRouter {
  readonly asked: readonly AskedResource[];
  /** By resource, of those that were answered. */
  readonly documents: ReadonlyMap<string, unknown>;
  /** What ended it early, because the router is gone; the rest was not asked. */
  readonly gone?: { readonly resource: string; readonly error: unknown };
}

/** All documents of a router together. Real ones have some ten thousand characters. */
const CHARACTERS_MAX = 32 * 1024 * 1024;

const REFUSALS: ReadonlyMap<unknown, ResourceAnswer> = new Map<unknown, ResourceAnswer>([
  [404, 'absent'],
  [403, 'no_rights'],
  // The session is in order where this counts as an answer.
  [401, 'no_rights'],
]);

/**
 * Asks a router for resources, one after the other. One that fails harms no other; when the router itself is gone, the rest
 * is not asked. Rejects only with the signal's reason. `onAsk` hears which resource is next.
 */
export async function askResources(
  source: Pick<DocumentSource, 'readStatus'>,
  resources: readonly string[],
  signal: AbortSignal,
  onAsk: (resource: string, index: number) => void,
): Promise<AskedRouter> {
  const asked: AskedResource[] = [];
  const documents = new Map<string, unknown>();
  let characters = 0;
  const silences = new SilenceCount();
  for (const [index, resource] of resources.entries()) {
    onAsk(resource, index);
    try {
      const document = await source.readStatus(resource, signal);
      silences.isGoneAfter(undefined);
      const length = measure(document);
      if (characters + length > CHARACTERS_MAX)
        throw new StatusError('parse', `There is no room for what ${resource} says`);
      characters += length;
      asked.push({ resource, answer: 'yes' });
      documents.set(resource, document);
    } catch (error) {
      signal.throwIfAborted();
      if (silences.isGoneAfter(error)) return { asked, documents, gone: { resource, error } };
      const isAnswered = readProperty(error, 'isAnswered') === true;
      const answer = (isAnswered && REFUSALS.get(readProperty(error, 'status'))) || 'error';
      asked.push(answer === 'error' ? { resource, answer, error } : { resource, answer });
    }
  }
  return { asked, documents };
}

/** Characters of a document; of one that is nested without end, more than there is room for. */
function measure(document: unknown): number {
  try {
    return JSON.stringify(document)?.length ?? 0;
  } catch {
    return Infinity;
  }
}

function readProperty(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
