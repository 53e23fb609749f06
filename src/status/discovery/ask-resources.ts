import { SourceError } from '../../model/index.ts';
import { StatusError } from '../errors.ts';
import { SilenceCount } from '../silence-count.ts';

/**
 * Result of reading a resource. `no_rights`: the account may not read it; `error`: anything that may succeed next time.
 */
export type ResourceAnswer = 'yes' | 'absent' | 'no_rights' | 'error';

/** One resource and its answer. */
interface AskedResource {
  readonly resource: string;
  readonly answer: ResourceAnswer;
  /** The error thrown by the source, for `error` only. */
  readonly error?: unknown;
}

/** All resources that a router was asked for. */
export interface AskedRouter {
  readonly asked: readonly AskedResource[];
  /** Documents by resource. */
  readonly documents: ReadonlyMap<string, unknown>;
  /** The error that ended the discovery early, because the router is unavailable; the rest was not read. */
  readonly gone?: { readonly resource: string; readonly error: unknown };
}

/** Limit of the characters of all documents of a router. Real ones have about ten thousand. */
const CHARACTERS_MAX = 32 * 1024 * 1024;

const REFUSALS: ReadonlyMap<unknown, ResourceAnswer> = new Map<unknown, ResourceAnswer>([
  [404, 'absent'],
  [403, 'no_rights'],
  // The session is valid when this status counts as an answer.
  [401, 'no_rights'],
]);

/**
 * Reads resources from a router, one after the other. A failed one does not affect the others; if the router becomes
 * unavailable, the rest is not read. Rejects only with the signal's reason. `onAsk` is called with each resource before
 * it is read.
 */
export async function askResources(
  source: { readStatus(resource: string, signal: AbortSignal): Promise<unknown> },
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
      const isAnswered = error instanceof SourceError && error.isAnswered;
      const answer = (isAnswered && REFUSALS.get(error.status)) || 'error';
      asked.push(answer === 'error' ? { resource, answer, error } : { resource, answer });
    }
  }
  return { asked, documents };
}

/** Returns the characters of a document; a number above the limit if it is nested too deeply. */
function measure(document: unknown): number {
  try {
    return JSON.stringify(document)?.length ?? 0;
  } catch {
    return Infinity;
  }
}
