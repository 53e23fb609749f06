import type { Clock } from '../base/index.ts';
import type { MetricFamily } from '../model/index.ts';
import type { Refusal } from './capability-memory.ts';
import type { DocumentSource } from './contracts.ts';
import { StatusError } from './errors.ts';
import { mergeMappings } from './mapping/family-collector.ts';
import { hasContent } from './mapping/has-content.ts';
import type { MappingFault } from './mapping/mapping-fault.ts';
import type { PollTarget } from './poll-plan.ts';
import type { ReaderContext } from './reader.ts';

export interface ReadContext extends ReaderContext {
  readonly source: DocumentSource;
  readonly clock: Clock;
  readonly zone: string | undefined;
}

/** What came of asking for one target. */
export interface TargetReading {
  readonly state: 'read' | 'failed' | Refusal;
  /** What the router answered; `undefined` unless a document was read. */
  readonly document: unknown;
  readonly families: readonly MetricFamily[];
  readonly faults: readonly MappingFault[];
  /** Whether the answer has values of which none became a series, as when another firmware has another shape. */
  readonly isUnread: boolean;
  /** Whether it was read without any answer of the router. */
  readonly isFromMemory: boolean;
  readonly durationMs: number;
  /** On the monotonic clock. */
  readonly readAtMs: number;
  readonly error: unknown;
  /** Of a refusal: whether it may mean the account as well, so that it counts only beside something that was read. */
  readonly isUnsure: boolean;
  /** Of the error: whether the router is well and only this failed, and the code of the source's list. */
  readonly isAnswered: boolean;
  readonly code: string;
  /** Of the error: whether the router asks to be left alone for some time. */
  readonly isPutOff: boolean;
}

/** HTTP status of a session that is refused; of an answer, it is a lack of rights. */
const UNAUTHORIZED = 401;
/** HTTP status of an answer, and what it says about the resource. */
const REFUSALS: ReadonlyMap<unknown, Refusal> = new Map([
  [404, 'unsupported'],
  [403, 'forbidden'],
  [UNAUTHORIZED, 'forbidden'],
]);

/** Asks for one target and maps what was answered. Never rejects. */
export async function readTarget(
  target: PollTarget,
  context: ReadContext,
  signal: AbortSignal,
): Promise<TargetReading> {
  const { clock } = context;
  const startedMs = clock.monotonic();
  const none = {
    document: undefined,
    families: [],
    faults: [],
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
    const isAnswered = readProperty(error, 'isAnswered') === true;
    const status = readProperty(error, 'status');
    const state = (isAnswered && REFUSALS.get(status)) || 'failed';
    const code = readProperty(error, 'code');
    return {
      ...none,
      state,
      durationMs: readAtMs - startedMs,
      readAtMs,
      error,
      isUnsure: status === UNAUTHORIZED,
      isAnswered,
      code: typeof code === 'string' ? code : 'http',
      isPutOff: readProperty(error, 'retryAfterMs') !== undefined,
    };
  }
}

async function readValues(target: PollTarget, context: ReadContext, signal: AbortSignal) {
  const { source, clock, zone, configHash } = context;
  if (target.reader) return target.reader.read({ configHash }, signal);
  const { path, name } = target;
  const document = await (path.startsWith('/') ? source.readPath(path, signal) : source.readStatus(path, signal));
  const mapped = { resource: name, readAtMs: clock.now(), zone };
  const mappings = target.resources.map((resource) => resource.map(document, mapped));
  // Single values beside a list may be missing, or the other way round; a body with none of them is something else.
  if (mappings.length > 0 && !mappings.some(({ isFound }) => isFound)) {
    throw new StatusError('parse', `The answer for ${name} has an unknown shape`);
  }
  const merged = mergeMappings(mappings);
  const isRead = merged.families.length > 0 || mappings.some(({ isRecognised }) => isRecognised);
  return { document, ...merged, isUnread: mappings.length > 0 && !isRead && hasContent(document) };
}

function readProperty(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
