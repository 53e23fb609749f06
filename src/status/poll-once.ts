import { type Clock, openDeadline } from '../base/index.ts';
import type { MetricFamily } from '../model/index.ts';
import { StatusError } from './errors.ts';
import { type DocumentSource, STATUS_RESOURCES, type StatusResource } from './resources.ts';

export interface PollOptions {
  readonly source: DocumentSource;
  readonly clock: Clock;
  /** Bound of the whole cycle. Milliseconds. */
  readonly deadlineMs: number;
}

/** What came of one resource. */
export interface ResourceResult {
  readonly resource: StatusResource;
  readonly durationMs: number;
  /** When the answer was there, on the monotonic clock. */
  readonly readAtMs: number;
  /** `undefined` when it failed. */
  readonly families: readonly MetricFamily[] | undefined;
  readonly error: unknown;
}

/** What came of one cycle over all resources of a router. */
export interface PollResult {
  /** Whether the router was reached and accepted the session. */
  readonly isUp: boolean;
  /** Why the cycle failed: a code of the source's closed list. `undefined` when it did not. */
  readonly failure: string | undefined;
  /** The error behind `failure`. */
  readonly error: unknown;
  readonly durationMs: number;
  /** Those that were asked; a cycle that lost the router does not get to all. */
  readonly resources: readonly ResourceResult[];
}

/**
 * Asks a router for every status resource once. One resource that fails harms no other; the cycle ends early when the
 * router cannot be reached, or at the deadline. Rejects only with the signal's reason.
 */
export async function pollOnce(options: PollOptions, signal: AbortSignal): Promise<PollResult> {
  const { clock } = options;
  const startedMs = clock.monotonic();
  using deadline = openDeadline(clock, options.deadlineMs, signal);
  const resources: ResourceResult[] = [];
  let isUp = false;
  let failure: string | undefined;
  let lastError: unknown;
  for (const resource of STATUS_RESOURCES) {
    const result = await readResource(resource, options, deadline.signal);
    signal.throwIfAborted();
    resources.push(result);
    if (result.error === undefined) {
      isUp = true;
      continue;
    }
    const isAnswered = readProperty(result.error, 'isAnswered') === true;
    const code = deadline.signal.aborted ? 'timeout' : readCode(result.error);
    isUp ||= isAnswered;
    failure ??= code;
    lastError ??= result.error;
    // A resource that is slow may be alone with that; a router that is gone is gone for all of them.
    if (!isAnswered && (code !== 'timeout' || deadline.signal.aborted)) break;
  }
  return {
    isUp,
    failure: isUp ? undefined : failure,
    error: lastError,
    durationMs: clock.monotonic() - startedMs,
    resources,
  };
}

async function readResource(
  resource: StatusResource,
  { source, clock }: PollOptions,
  signal: AbortSignal,
): Promise<ResourceResult> {
  const startedMs = clock.monotonic();
  let families: readonly MetricFamily[] | undefined;
  let error: unknown;
  try {
    families = resource.toFamilies(await resource.read(source, signal));
    if (!families) error = new StatusError('parse', `The answer for ${resource.name} has an unknown shape`);
  } catch (cause) {
    error = cause;
  }
  const readAtMs = clock.monotonic();
  return { resource, durationMs: readAtMs - startedMs, readAtMs, families, error };
}

function readCode(error: unknown): string {
  const code = readProperty(error, 'code');
  return typeof code === 'string' ? code : 'http';
}

function readProperty(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
