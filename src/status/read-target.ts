import type { Clock } from '../base/index.ts';
import { type MetricFamily, SourceError } from '../model/index.ts';
import type { DocumentSource, ReaderContext } from './contracts.ts';
import { StatusError } from './errors.ts';
import type { DeviceFacts } from './mapping/device-condition.ts';
import { mergeMappings } from './mapping/family-collector.ts';
import type { CompiledJoin, JoinTable } from './mapping/join.ts';
import type { MappingFault } from './mapping/mapping-fault.ts';
import type { PollTarget, StatusReaders } from './poll-plan.ts';
import type { Refusal } from './poll-result.ts';

/** Source, clock and zone of one reading. */
export interface ReadContext extends ReaderContext {
  readonly source: DocumentSource;
  /** Readers by name. Default: none. */
  readonly readers?: StatusReaders | undefined;
  readonly clock: Clock;
  readonly zone: string | undefined;
  /** Last answer of the target whose values are still held; an equal one is not mapped again. Default: none. */
  readonly previous?: HeldAnswer | undefined;
  /** Facts about the device, for conditions. Default: unknown. */
  readonly device?: DeviceFacts | undefined;
  /** Returns the rows of a join with another target. Default: none are known. */
  readonly tableOf?: ((join: CompiledJoin) => JoinTable | undefined) | undefined;
  /** Names everything besides the document that the mapping depends on: device and joined rows. Default: nothing. */
  readonly basis?: string | undefined;
}

/** An answer with the same bytes as this one means the same, whenever it is read, on the same basis. */
export interface HeldAnswer {
  readonly digest: string;
  /** {@link ReadContext.basis} of its mapping. */
  readonly basis: string;
  readonly faults: readonly MappingFault[];
  readonly isUnread: boolean;
}

/** Result of reading one target. */
export interface TargetReading {
  readonly state: 'read' | 'failed' | Refusal;
  /** The router's answer; `undefined` unless a document was read and is another one. */
  readonly document: unknown;
  /** True if the answer is the same as the previous one, and was not mapped again. */
  readonly isUnchanged: boolean;
  readonly families: readonly MetricFamily[];
  readonly faults: readonly MappingFault[];
  /** Basis for comparing the next answer; `undefined` if it has to be mapped anyway. */
  readonly held: HeldAnswer | undefined;
  /** Rows of the answer for joins of other targets; `undefined` if it is the same answer. */
  readonly tables: ReadonlyMap<CompiledJoin, JoinTable> | undefined;
  /** True if none of the answer's values became a series, for example because another firmware has another format. */
  readonly isUnread: boolean;
  /** True if it was read without an answer from the router. */
  readonly isFromMemory: boolean;
  readonly durationMs: number;
  /** Time on the monotonic clock. */
  readonly readAtMs: number;
  readonly error: unknown;
  /** For a refusal: true if it may concern the whole account, so that it counts only if something else was read. */
  readonly isUnsure: boolean;
  /**
   * For an error: `isAnswered` is true if the router works and only this read failed; `code` is from the source's list.
   */
  readonly isAnswered: boolean;
  readonly code: string;
  /** For an error: true if the router asked for requests to be delayed. */
  readonly isPutOff: boolean;
}

/** HTTP status of a refused session; as an answer it means missing rights. */
const UNAUTHORIZED = 401;
/** HTTP status of an answer, and its meaning for the resource. */
const REFUSALS: ReadonlyMap<number | undefined, Refusal> = new Map([
  [404, 'unsupported'],
  [403, 'forbidden'],
  [UNAUTHORIZED, 'forbidden'],
]);

/** Reads one target and maps the answer. Never rejects. */
export async function readTarget(
  target: PollTarget,
  context: ReadContext,
  signal: AbortSignal,
): Promise<TargetReading> {
  const { clock } = context;
  const startedMs = clock.monotonic();
  const none = {
    document: undefined,
    isUnchanged: false,
    families: [],
    faults: [],
    held: undefined,
    tables: undefined,
    isUnread: false,
    isFromMemory: false,
    error: undefined,
    isUnsure: false,
    isAnswered: true,
    code: '',
    isPutOff: false,
  };
  try {
    const values = await readValues(target, context, signal);
    const readAtMs = clock.monotonic();
    return { ...none, ...values, state: 'read', durationMs: readAtMs - startedMs, readAtMs };
  } catch (error) {
    const readAtMs = clock.monotonic();
    const failure = error instanceof SourceError ? error : undefined;
    const isAnswered = failure?.isAnswered ?? false;
    const state = (isAnswered && REFUSALS.get(failure?.status)) || 'failed';
    return {
      ...none,
      state,
      durationMs: readAtMs - startedMs,
      readAtMs,
      error,
      isUnsure: failure?.status === UNAUTHORIZED,
      isAnswered,
      code: failure?.code ?? 'http',
      isPutOff: failure?.retryAfterMs !== undefined,
    };
  }
}

async function readValues(target: PollTarget, context: ReadContext, signal: AbortSignal) {
  const { source, readers, clock, zone, configHash, device, basis = '' } = context;
  const previous = context.previous?.basis === basis ? context.previous : undefined;
  const reader = target.reader && readers?.[target.reader];
  if (reader) return reader.read({ configHash }, signal);
  const { path, name } = target;
  const { body: document, digest } = await source.readDocument(path, signal, previous?.digest);
  if (previous && digest === previous.digest) {
    const { faults, isUnread } = previous;
    return { families: [], isUnchanged: true, faults, isUnread, held: previous };
  }
  const tables = new Map(target.feeds.map((join) => [join, join.extract(document)]));
  const tableOf = (join: CompiledJoin) => tables.get(join) ?? context.tableOf?.(join);
  const mapped = { resource: name, readAtMs: clock.now(), zone, device, tableOf };
  const mappings = target.resources
    .filter((resource) => resource.isFor(device))
    .map((resource) => resource.map(document, mapped));
  // Single values next to a list may be missing, or the list; a body with neither is something else.
  if (mappings.length > 0 && !mappings.some(({ isFound }) => isFound)) {
    throw new StatusError('parse', `The answer for ${name} has an unknown shape`);
  }
  const merged = mergeMappings(mappings);
  const isRead = merged.families.length > 0 || mappings.some(({ isRecognised }) => isRecognised);
  const isUnread = mappings.length > 0 && !isRead && hasContent(document);
  const isTimeless = digest !== undefined && !mappings.some(({ dependsOnTime }) => dependsOnTime);
  const faults = merged.faults.length === 0 ? NO_FAULTS : merged.faults;
  const held = isTimeless ? { digest, basis, faults, isUnread } : undefined;
  return { document, ...merged, isUnread, held, tables };
}

/** The faults of nearly all answers that are held, once for all of them. */
const NO_FAULTS: readonly MappingFault[] = [];

/** Maximum number of values examined; a larger document certainly has content. */
const VALUES_MAX = 10_000;
/** Values of a field that mean "nothing". */
const NOTHING: ReadonlySet<unknown> = new Set([undefined, null, '', '---']);

/** Returns true if a document contains any information: a text, number or flag. An empty list contains none. */
export function hasContent(document: unknown): boolean {
  const waiting: unknown[] = [document];
  for (let looked = 0; waiting.length > 0; looked++) {
    const value = waiting.pop();
    if (looked >= VALUES_MAX) return true;
    if (typeof value === 'object' && value !== null) {
      for (const inner of Object.values(value)) waiting.push(inner);
    } else if (!NOTHING.has(typeof value === 'string' ? value.trim() : value)) return true;
  }
  return false;
}
