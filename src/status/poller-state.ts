import { parseJson } from '../base/index.ts';

/** Parses a text that an earlier process has stored; `undefined` if it is absent or no JSON. */
export function parseStored(text: string | undefined): unknown {
  return text === undefined ? undefined : parseJson(text);
}

/** Returns a field of an object; `undefined` for anything else. */
export function readField(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

/** Knowledge of a poller about its router that survives a restart. */
export interface PollerState {
  readonly firmware: string | undefined;
  readonly serial: string | undefined;
  readonly lacks: readonly KnownLack[];
  readonly phases: readonly KnownPhase[];
}

/** Phase of a resource of a slow module within its interval. */
interface KnownPhase {
  readonly resource: string;
  /** Interval of the module, which may be another one by now. Milliseconds. */
  readonly intervalMs: number;
  /** Rest of the wall time of its readings, divided by the interval. Milliseconds. */
  readonly phaseMs: number;
}

/** A resource that the router does not have. */
interface KnownLack {
  readonly resource: string;
  /** Time until which it is not asked for. Milliseconds since the Unix epoch. */
  readonly untilMs: number;
}

const STATE_VERSION = 1;
/** More than the modules of one router have resources. */
const LACKS_MAX = 1000;
const NOTHING: PollerState = { firmware: undefined, serial: undefined, lacks: [], phases: [] };

/** Renders a state as {@link parseState} reads it. */
export function renderState({ firmware, serial, lacks, phases }: PollerState): string {
  return JSON.stringify({ version: STATE_VERSION, firmware, serial, lacks, phases });
}

/** Parses a state; any other text means a first contact. */
export function parseState(text: string | undefined): PollerState {
  const json = parseStored(text);
  const lacks = readField(json, 'lacks');
  const phases: unknown = readField(json, 'phases');
  if (readField(json, 'version') !== STATE_VERSION || !Array.isArray(lacks) || !Array.isArray(phases)) return NOTHING;
  return {
    firmware: toText(readField(json, 'firmware')),
    serial: toText(readField(json, 'serial')),
    lacks: lacks.slice(0, LACKS_MAX).flatMap(toLack),
    phases: phases.slice(0, LACKS_MAX).flatMap(toPhase),
  };
}

function toPhase(entry: unknown): readonly KnownPhase[] {
  const [resource, intervalMs, phaseMs] = ['resource', 'intervalMs', 'phaseMs'].map((name) => readField(entry, name));
  if (typeof resource !== 'string' || typeof intervalMs !== 'number' || typeof phaseMs !== 'number') return [];
  return phaseMs >= 0 && phaseMs < intervalMs ? [{ resource, intervalMs, phaseMs }] : [];
}

function toLack(entry: unknown): readonly KnownLack[] {
  const [resource, untilMs] = [readField(entry, 'resource'), readField(entry, 'untilMs')];
  return typeof resource === 'string' && typeof untilMs === 'number' ? [{ resource, untilMs }] : [];
}

function toText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
