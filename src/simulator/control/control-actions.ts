import { FAULT_NAMES, type FaultOptions, isFaultName } from '../faults/router-faults.ts';
import type { StatusOverride } from '../life/status-override.ts';
import type { LogSeverity } from '../log-files/line.ts';
import { isRecord } from '../rest/json.ts';
import type { SimulatedRouter } from '../simulated-router.ts';
import { SimulatorError } from '../simulator-error.ts';

type Parameters = Readonly<Record<string, unknown>>;
type Perform = (router: SimulatedRouter, parameters: Parameters) => object | undefined | Promise<object | undefined>;

interface Action {
  /** Names of its parameters. */
  readonly parameters: readonly string[];
  readonly perform: Perform;
}

const SEVERITIES = ['EMERG', 'ALERT', 'CRIT', 'ERR', 'WARNING', 'NOTICE', 'INFO', 'DEBUG'];
/** Maximum number of lines appended by one request. */
const COUNT_MAX = 100_000;
/** Ten years. */
const ADVANCE_MS_MAX = 10 * 366 * 86_400_000;

/** All actions of the control port. */
const actions: Readonly<Record<string, Action>> = {
  append_log: {
    parameters: ['component', 'message', 'tag', 'severity', 'count'],
    perform(router, given) {
      const [component, message] = [readText(given, 'component'), readText(given, 'message')];
      const tag = given['tag'] === undefined ? component : readText(given, 'tag');
      const severity = given['severity'] === undefined ? undefined : readText(given, 'severity');
      if (severity !== undefined && !SEVERITIES.includes(severity))
        refuse('severity', `one of ${SEVERITIES.join(', ')}`);
      const count = readWhole(given, 'count', 1, COUNT_MAX) ?? 1;
      for (let done = 0; done < count; done++) router.appendLog(component, message, tag, severity as LogSeverity);
      return { lines: count };
    },
  },
  rotate: {
    parameters: ['component', 'message', 'tag'],
    perform(router, given) {
      const component = readText(given, 'component');
      const message = given['message'] === undefined ? undefined : readText(given, 'message');
      router.rotate(component, message, given['tag'] === undefined ? component : readText(given, 'tag'));
      return undefined;
    },
  },
  expire: {
    parameters: [],
    perform(router) {
      router.expireTokens();
      return undefined;
    },
  },
  restart: {
    parameters: [],
    perform(router) {
      router.restart();
      return undefined;
    },
  },
  factory_reset: {
    parameters: [],
    async perform(router) {
      await router.factoryReset();
      return { url: router.url };
    },
  },
  set_status: {
    parameters: ['resource', 'unique', 'list', 'remove', 'body', 'absent', 'reset'],
    perform(router, given) {
      const resource = readText(given, 'resource');
      router.setStatus(resource, given['reset'] === true ? undefined : readOverride(given));
      return { resource };
    },
  },
  fault: {
    parameters: ['name', 'path', 'times', 'delay_ms', 'retry_after', 'retry_after_date', 'bytes', 'bytes_per_second'],
    async perform(router, given) {
      await router.fault(readFaultName(given), readFaultOptions(given));
      return { faults: router.faults };
    },
  },
  clear_fault: {
    parameters: ['name'],
    async perform(router, given) {
      await router.clearFault(given['name'] === undefined ? undefined : readFaultName(given));
      return { faults: router.faults };
    },
  },
  advance_clock: {
    parameters: ['ms', 'wall_only'],
    async perform(router, given) {
      const wallOnly = given['wall_only'] === true;
      const ms = readWhole(given, 'ms', wallOnly ? -ADVANCE_MS_MAX : 0, ADVANCE_MS_MAX);
      if (ms === undefined) return refuse('ms', 'given; only with "wall_only": true it may be negative');
      if (wallOnly) router.jumpClock(ms);
      else await router.advanceClock(ms);
      return { ms };
    },
  },
};

/** Names of all actions. */
export const controlActionNames: readonly string[] = Object.keys(actions);

/** Performs `{"action": …}`. Throws {@link SimulatorError} `bad-option` for an invalid request. */
export async function performControl(router: SimulatedRouter, request: Parameters): Promise<object> {
  const { action: name, ...given } = request;
  const action = typeof name === 'string' && Object.hasOwn(actions, name) ? actions[name] : undefined;
  if (!action) return refuse('action', `one of ${controlActionNames.join(', ')}`);
  const unknown = Object.keys(given).find((key) => !action.parameters.includes(key));
  if (unknown !== undefined)
    return refuse(unknown, `left out: ${String(name)} takes ${action.parameters.join(', ') || 'nothing'}`);
  return { action: name, ...(await action.perform(router, given)) };
}

function readOverride(given: Parameters): StatusOverride {
  const { unique, list, remove, body, absent } = given;
  if (absent !== undefined && typeof absent !== 'boolean') refuse('absent', 'true or false');
  if (unique !== undefined && !isValues(unique)) refuse('unique', 'an object of strings');
  if (list !== undefined && !(Array.isArray(list) && list.every(isValues)))
    refuse('list', 'a list of objects of strings');
  if (remove !== undefined && !(Array.isArray(remove) && remove.every((one) => typeof one === 'string'))) {
    refuse('remove', 'a list of names');
  }
  if (body !== undefined && !isRecord(body)) refuse('body', 'an object');
  if ([unique, list, remove, body, absent].every((one) => one === undefined)) {
    refuse('unique', 'given, or one of list, remove, body, absent, reset');
  }
  return { ...(given as StatusOverride), isAbsent: absent === true };
}

function readFaultName(given: Parameters): (typeof FAULT_NAMES)[number] {
  const name = readText(given, 'name');
  return isFaultName(name) ? name : refuse('name', `one of ${FAULT_NAMES.join(', ')}`);
}

function readFaultOptions(given: Parameters): FaultOptions {
  const max = Number.MAX_SAFE_INTEGER;
  const [times, delayMs] = [readWhole(given, 'times', 1, max), readWhole(given, 'delay_ms', 0, max)];
  const [retryAfterSeconds, bytes] = [readWhole(given, 'retry_after', 0, max), readWhole(given, 'bytes', 0, max)];
  const bytesPerSecond = readWhole(given, 'bytes_per_second', 1, max);
  return {
    ...(given['path'] !== undefined && { path: readText(given, 'path') }),
    ...(times !== undefined && { times }),
    ...(delayMs !== undefined && { delayMs }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    ...(given['retry_after_date'] === true && { isRetryAfterDate: true }),
    ...(bytes !== undefined && { bytes }),
    ...(bytesPerSecond !== undefined && { bytesPerSecond }),
  };
}

function readText(given: Parameters, name: string): string {
  const value = given[name];
  return typeof value === 'string' ? value : refuse(name, 'a string');
}

function readWhole(given: Parameters, name: string, min: number, max: number): number | undefined {
  const value = given[name];
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max) return value;
  return refuse(name, `a whole number from ${min} to ${max}`);
}

function isValues(value: unknown): boolean {
  return isRecord(value) && Object.values(value).every((one) => typeof one === 'string');
}

function refuse(parameter: string, expected: string): never {
  throw new SimulatorError('bad-option', `The parameter ${JSON.stringify(parameter)} must be ${expected}`);
}
