import { createSteppedClock, type SteppedClock } from '../../src/base/index.ts';
import { RouterReadError } from '../../src/model/index.ts';
import type { ModuleDefinition } from '../../src/status/index.ts';
import { type DocumentSource, StatusPoller } from '../../src/status/index.ts';
import { toModule } from './shipped-modules.ts';

const INTERVAL_MS = 60_000;
export const DEADLINE_MS = 45_000;
const STALE_AFTER_MS = 180_000;

/** An error as a source throws it. */
export function failure(code: string, isAnswered = false, status?: number, retryAfterMs?: number): Error {
  return new RouterReadError(code, `It was ${code}`, { disposition: 'retry', isAnswered, status, retryAfterMs });
}

export const NOT_FOUND = failure('http', true, 404);
export const FORBIDDEN = failure('auth', true, 403);

/** What a path answers: a body, an error to throw, or a function that does either. */
export type Script = Record<string, unknown>;

export interface Bench {
  readonly poller: StatusPoller;
  readonly clock: SteppedClock;
  /** Paths in the order of asking; {@link poll} empties it. */
  readonly asked: string[];
  readonly script: Script;
  /** Moves the clock to `atMs` and has one poll; gives the paths that were asked. */
  poll(atMs: number, options?: Parameters<StatusPoller['pollOnce']>[1]): Promise<readonly string[]>;
}

/** A poller of `modules` against a script; what is not in it is not found. */
export function openBench(
  modules: readonly ModuleDefinition[],
  script: Script,
  options: Partial<ConstructorParameters<typeof StatusPoller>[0]> = {},
): Bench {
  const clock = createSteppedClock(Date.UTC(2026, 10, 21, 8));
  const asked: string[] = [];
  const read = async (path: string, signal: AbortSignal): Promise<unknown> => {
    asked.push(path);
    const answer = path in script ? script[path] : NOT_FOUND;
    const document: unknown = typeof answer === 'function' ? await answer(signal) : answer;
    if (document instanceof Error) throw document;
    return document;
  };
  const source: DocumentSource = {
    async readDocument(path, signal) {
      return { body: await read(path, signal), digest: undefined };
    },
  };
  const poller = new StatusPoller({
    modules,
    source,
    clock,
    intervalMs: INTERVAL_MS,
    deadlineMs: DEADLINE_MS,
    staleAfterMs: STALE_AFTER_MS,
    zone: 'UTC',
    ...options,
  });
  return {
    poller,
    clock,
    asked,
    script,
    async poll(atMs, pollOptions) {
      await clock.advance(atMs - clock.monotonic());
      asked.length = 0;
      await poller.pollOnce(new AbortController().signal, pollOptions);
      return [...asked];
    },
  };
}

/** A module that makes the field `v` of single values a metric, for each of its paths. */
export function createModule(
  name: string,
  paths: readonly string[],
  rest: Readonly<Record<string, unknown>> = {},
): ModuleDefinition {
  const metrics = [{ name: `router_${name}`, value: 'v', labels: { resource: '$resource' } }];
  return toModule(name, { resources: paths.map((path) => ({ path, metrics })), ...rest });
}

/** A body of single values. */
export function body(v: unknown = 1): object {
  return { status: { unique: { v } } };
}

/** A `device_info` whose main board has this firmware. */
export function device(firmware: string, serial = ''): object {
  const main = { firmware_version: firmware, serial_number: serial };
  return { status: { unique: { v: 1 }, list: [main, { firmware_version: '' }] } };
}

/** Never answers. */
export function hang(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error));
  });
}
