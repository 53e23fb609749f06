import type { Clock } from '../../base/index.ts';
import { type MetricFamily, RouterReadError } from '../../model/index.ts';
import { mapDocument } from '../mapping/compile-modules.ts';
import type { DeviceFacts } from '../mapping/device-condition.ts';
import type { MappingFault } from '../mapping/family-collector.ts';
import type { CompiledJoin, JoinTable } from '../mapping/labels.ts';
import type { ModuleDefinition } from '../module-settings/module-schema.ts';
import type { PollTarget } from './poll-plan.ts';

/** Reads documents of a router. Throws `RouterReadError`; any other error means that the router is unavailable. */
export interface DocumentSource {
  /** Reads `/status/<path>`, or `path` itself if it starts with a slash. `known`: the digest of an earlier answer. */
  readDocument(path: string, signal: AbortSignal, known: string | undefined): Promise<SourceDocument>;
}

interface SourceDocument {
  /** The parsed body; `undefined` if its digest is the known one. */
  readonly body: unknown;
  /** Digest of the body; `undefined` if the source has none, so that every answer counts as a new one. */
  readonly digest: string | undefined;
}

/** State that a reading may depend on. */
export interface ReaderContext {
  /** The field `hash` of sysdetail/system at its last reading; `undefined` if the router does not report it. */
  configHash: string | undefined;
  /** As last reported by the device. Default: unknown. */
  serialNumber?: string | undefined;
}

/** A reading that needs more than mapping one document. */
export interface StatusReader {
  read(context: ReaderContext, signal: AbortSignal): Promise<ReaderReading>;
}

/** Readers by name. */
export type StatusReaders = Readonly<Partial<Record<NonNullable<ModuleDefinition['reader']>, StatusReader>>>;

/** Result of one reading. */
export interface ReaderReading {
  readonly families: readonly MetricFamily[];
  readonly faults: readonly MappingFault[];
  /** True if the router was not contacted, so that the reading does not prove that it works. Default false. */
  readonly isFromMemory?: boolean;
}

/** A status document that is unusable although the router answered. */
export class StatusError extends RouterReadError<'parse'> {
  override readonly name = 'StatusError';
  constructor(message: string) {
    super('parse', message, { disposition: 'skip', isAnswered: true });
  }
}

/** Why a resource cannot be read: the router does not have it, or this account may not read it. */
export type Refusal = 'unsupported' | 'forbidden';

/** HTTP status of a refused session; as an answer it means missing rights. */
const UNAUTHORIZED = 401;
const REFUSALS: ReadonlyMap<number | undefined, Refusal> = new Map([
  [404, 'unsupported'],
  [403, 'forbidden'],
  [UNAUTHORIZED, 'forbidden'],
]);

/** Returns the refusal that an error means; `undefined` for any other error. */
export function findRefusal(error: unknown): Refusal | undefined {
  return error instanceof RouterReadError && error.isAnswered ? REFUSALS.get(error.status) : undefined;
}

/** After this many consecutive resources without an answer the router counts as unavailable: each costs a request timeout. */
const SILENCES_MAX = 2;

/** Distinguishes a failed resource from an unavailable router for commands that read resources in sequence. */
export class SilenceCount {
  #silences = 0;

  /** Records the error of the next resource, `undefined` for an answer; returns true if the router is unavailable. */
  isGoneAfter(error: unknown): boolean {
    const failure = error instanceof RouterReadError ? error : undefined;
    const isSilent = failure?.code === 'timeout';
    this.#silences = isSilent ? this.#silences + 1 : 0;
    if (error === undefined || failure?.isAnswered) return false;
    // A slow resource may be an exception.
    return !isSilent || this.#silences >= SILENCES_MAX;
  }
}

interface ReadContext extends ReaderContext {
  readonly source: DocumentSource;
  readonly readers?: StatusReaders | undefined;
  readonly clock: Clock;
  readonly zone: string | undefined;
  /** Last answer of the target, if its values are still held; an equal one is not mapped again. Default: none. */
  readonly previous?: HeldAnswer | undefined;
  /** Facts about the device, for conditions. Default: unknown. */
  readonly device?: DeviceFacts | undefined;
  /** Returns the rows of a join with another target. Default: none are known. */
  readonly tableOf?: ((join: CompiledJoin) => JoinTable | undefined) | undefined;
  /** Identifies everything besides the document that the mapping depends on: device and joined rows. Default: nothing. */
  readonly basis?: string | undefined;
}

/** An answer with the same digest and basis has the same mapping, whenever it is read. */
interface HeldAnswer {
  readonly digest: string;
  /** {@link ReadContext.basis} of its mapping. */
  readonly basis: string;
  readonly faults: readonly MappingFault[];
  readonly isUnread: boolean;
}

/** Result of reading one target. */
export interface TargetReading {
  /** `unsupported`: the router does not have it. `forbidden`: the account may not read it. Neither is a failure. */
  readonly state: 'read' | 'failed' | Refusal;
  /** The router's answer; `undefined` unless a changed document was read. */
  readonly document: unknown;
  /** True if the answer equals the previous one and was not mapped again. */
  readonly isUnchanged: boolean;
  readonly families: readonly MetricFamily[];
  readonly faults: readonly MappingFault[];
  /** Basis for comparing the next answer; `undefined` if it has to be mapped anyway. */
  readonly held: HeldAnswer | undefined;
  /** Rows of the answer for joins of other targets; `undefined` if it is unchanged. */
  readonly tables: ReadonlyMap<CompiledJoin, JoinTable> | undefined;
  /** True if none of the answer's values became a series, for example because another firmware has another format. */
  readonly isUnread: boolean;
  /** True if it was read without an answer from the router. */
  readonly isFromMemory: boolean;
  readonly durationMs: number;
  /** Monotonic milliseconds. */
  readonly readAtMs: number;
  /** The error thrown by the source; `undefined` if the resource was read. */
  readonly error: unknown;
  /** For a refusal: true if it may concern the whole account. It counts only if another resource was read. */
  readonly isUnsure: boolean;
  /** For an error: `isAnswered` is true if the router works and only this read failed; `code` is from the source's list. */
  readonly isAnswered: boolean;
  readonly code: string;
  /** For an error: true if the router asked for requests to be delayed. */
  readonly isPutOff: boolean;
}

const NONE = {
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

/** Reads one target and maps the answer. Never rejects. */
export async function readTarget(
  target: PollTarget,
  context: ReadContext,
  signal: AbortSignal,
): Promise<TargetReading> {
  const { clock } = context;
  const startedMs = clock.monotonic();
  const finish = <T>(reading: T) => {
    const readAtMs = clock.monotonic();
    return { ...NONE, ...reading, durationMs: readAtMs - startedMs, readAtMs };
  };
  try {
    return finish({ ...(await readValues(target, context, signal)), state: 'read' as const });
  } catch (error) {
    const failure = error instanceof RouterReadError ? error : undefined;
    return finish({
      state: findRefusal(error) ?? ('failed' as const),
      error,
      isUnsure: failure?.status === UNAUTHORIZED,
      isAnswered: failure?.isAnswered ?? false,
      code: failure?.code ?? 'http',
      isPutOff: failure?.retryAfterMs !== undefined,
    });
  }
}

async function readValues(target: PollTarget, context: ReadContext, signal: AbortSignal) {
  const { source, readers, clock, zone, configHash, serialNumber, device, basis = '' } = context;
  const previous = context.previous?.basis === basis ? context.previous : undefined;
  const reader = target.reader && readers?.[target.reader];
  if (reader) return reader.read({ configHash, serialNumber }, signal);
  const { path, name } = target;
  const { body: document, digest } = await source.readDocument(path, signal, previous?.digest);
  if (previous && digest === previous.digest) {
    const { faults, isUnread } = previous;
    return { families: [], isUnchanged: true, faults, isUnread, held: previous };
  }
  const tables = new Map(target.feeds.map((join) => [join, join.extract(document)]));
  const tableOf = (join: CompiledJoin) => tables.get(join) ?? context.tableOf?.(join);
  const mapped = { resource: name, readAtMs: clock.now(), zone, device, tableOf };
  const mapping = mapDocument(target.resources, document, mapped);
  // Single values next to a list may be missing, or the list; a body with neither is something else.
  if (!mapping.isFound) throw new StatusError(`The answer for ${name} has an unknown shape`);
  const { families, isRecognised, dependsOnTime } = mapping;
  const isUnread = !isRecognised && hasContent(document);
  const faults = mapping.faults.length === 0 ? NO_FAULTS : mapping.faults;
  const held = digest === undefined || dependsOnTime ? undefined : { digest, basis, faults, isUnread };
  return { document, families, faults, isUnread, held, tables };
}

/** Shared by nearly all held answers. */
const NO_FAULTS: readonly MappingFault[] = [];

/** A larger document certainly has content. */
const VALUES_MAX = 10_000;
const NOTHING: ReadonlySet<unknown> = new Set([undefined, null, '', '---']);

/** Content is any text, number or flag. An empty list has none. */
function hasContent(document: unknown): boolean {
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
