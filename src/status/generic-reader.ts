import { type Clock, decodeObject, isPlainObject, parseJson } from '../base/index.ts';
import { type FamilyDescription, RouterReadError, type Sample } from '../model/index.ts';
import { classifyName, isSensitiveText, NAMING_FIELD } from './discovery/document-masker.ts';
import type { MappingFault } from './mapping/family-collector.ts';
import { toPlainText } from './mapping/rows.ts';
import type { ModuleDefinition } from './module-settings/module-schema.ts';
import { type DocumentSource, findRefusal, type ReaderReading, SilenceCount, type StatusReader } from './poller/ask.ts';
import { expandPath, STATUS_PATHS } from './status-paths.ts';
import { findUnit, parseQuantity, toBaseUnit } from './values/quantities.ts';

/** Family of numbers and flags that no other module reads. */
export const GENERIC_VALUE: FamilyDescription = {
  name: 'router_status_value',
  help: 'Number or flag of a status resource that no other module of the router reads, in base units.',
  type: 'gauge',
};
/** Family of the rows of such resources. */
export const GENERIC_ROWS: FamilyDescription = {
  name: 'router_status_rows',
  help: 'Number of rows of a status resource that no other module of the router reads.',
  type: 'gauge',
};

/** Series of one router, rows included. */
const SERIES_MAX = 100;
/** Nesting below a resource; real documents have three levels. */
const DEPTH_MAX = 8;
/** Values and rows examined of one document: many times the series that it may have. */
const VALUES_MAX = 2000;
/** Longest name of a field, with the objects around it. */
const FIELD_CHARS_MAX = 128;
/** HTTP status of a resource that the router does not have. */
const NOT_FOUND = 404;
/** A refused resource is requested again after this time: a starting router answers 404, and rights may be granted. */
const REFUSED_MS = 3_600_000;
/** The same for a resource that was not found then either. */
const LACKING_MS = 24 * REFUSED_MS;
/** Digits of the shortest number of a device or a SIM card. */
const IDENTITY = /\d{14}/;
/** A name that firmware gives to a field. Others, such as a MAC address, are data. */
const FIELD_NAME = /^(?![\dA-F]{12}$)[A-Z][\w-]*$/i;
/** Results of scans, which only exist after an action of the operator. */
const SCANS = /\/(?:providers|scan_results)$/;
const FAULT = { module: 'generic', metric: GENERIC_VALUE.name } as const;
const FLAGS: ReadonlyMap<string, number> = new Map([
  ...['true', 'yes', 'on'].map((text) => [text, 1] as const),
  ...['false', 'no', 'off'].map((text) => [text, 0] as const),
]);

/** A router, and what is known of it. */
interface GenericReaderOptions {
  /** Reads from the router. */
  readonly source: DocumentSource;
  /** Wall clock for the times of refusals, which outlast a restart. */
  readonly clock: Clock;
  /** Modules of the router; the resources that they read are left out. */
  readonly modules: readonly ModuleDefinition[];
  /** The value of {@link GenericReader.state} when the agent ended; any other text means a first contact. Default: none. */
  readonly previous?: string | undefined;
}

/**
 * Reads the status resources that no other module of a router reads, and serves their numbers and flags under the names that
 * the router gives them. Texts and what looks like a secret, an address or an identity are left out.
 */
export class GenericReader implements StatusReader {
  readonly #source: DocumentSource;
  readonly #clock: Clock;
  readonly #paths: readonly string[];
  /** When resources that were refused may be asked for again, by path. Milliseconds since the Unix epoch. */
  readonly #refusedUntil: Map<string, number>;

  constructor({ source, clock, modules, previous }: GenericReaderOptions) {
    this.#source = source;
    this.#clock = clock;
    const covered = new Set(modules.flatMap(({ resources }) => resources.flatMap(({ path }) => expandPath(path))));
    this.#paths = STATUS_PATHS.filter((path) => !covered.has(path) && !SCANS.test(path));
    this.#refusedUntil = new Map(parseState(previous, this.#paths));
  }

  /** What the router lacks, as text to be kept over a restart. */
  get state(): string {
    return JSON.stringify(Object.fromEntries(this.#refusedUntil));
  }

  async read(_context: unknown, signal: AbortSignal): Promise<ReaderReading> {
    const values: Sample[] = [];
    const rows: Sample[] = [];
    const faults: MappingFault[] = [];
    const refusals = new Map<string, RouterReadError>();
    const silences = new SilenceCount();
    let isCut = false;
    let answers = 0;
    for (const path of this.#paths) {
      if (this.#isSuspended(path)) continue;
      try {
        const { body } = await this.#source.readDocument(path, signal, undefined);
        this.#refusedUntil.delete(path);
        answers++;
        const found = collect(path, body);
        isCut ||= found.isCut;
        for (const [samples, more] of [
          [rows, found.rows],
          [values, found.values],
        ] as const) {
          const room = SERIES_MAX - values.length - rows.length;
          isCut ||= more.length > room;
          samples.push(...more.slice(0, room));
        }
      } catch (error) {
        const isDelayed = error instanceof RouterReadError && error.retryAfterMs !== undefined;
        if (isDelayed || signal.aborted) throw error;
        if (error instanceof RouterReadError && findRefusal(error) !== undefined) refusals.set(path, error);
        else if (silences.isGoneAfter(error)) throw error;
        else faults.push({ ...FAULT, reason: 'unknown_form' });
      }
    }
    this.#suspend(refusals, answers > 0);
    if (isCut) faults.push({ ...FAULT, reason: 'too_many' });
    const families = [
      { ...GENERIC_ROWS, samples: rows },
      { ...GENERIC_VALUE, samples: values },
    ].filter(({ samples }) => samples.length > 0);
    return { families, faults, isFromMemory: answers === 0 };
  }

  /** The agent's clock may have been set back since the refusal. */
  #isSuspended(path: string): boolean {
    const leftMs = (this.#refusedUntil.get(path) ?? 0) - this.#clock.now();
    return leftMs > 0 && leftMs <= LACKING_MS;
  }

  /** Remembers what the router refused. If it answered nothing, it may be starting, or the account may have no rights yet. */
  #suspend(refusals: ReadonlyMap<string, RouterReadError>, hasAnswers: boolean): void {
    for (const [path, { status }] of refusals) {
      const isLacking = status === NOT_FOUND && hasAnswers && this.#refusedUntil.has(path);
      this.#refusedUntil.set(path, this.#clock.now() + (isLacking ? LACKING_MS : REFUSED_MS));
    }
  }
}

/** Returns the refusals of a kept state; none if it is not readable. */
function parseState(text: string | undefined, paths: readonly string[]): readonly (readonly [string, number])[] {
  const state = decodeObject(parseJson(text ?? '')) ?? {};
  return paths.flatMap((path) => {
    const untilMs = state[path];
    return typeof untilMs === 'number' ? [[path, untilMs] as const] : [];
  });
}

/** A value to examine: where it stands, and in which row. */
type Place = readonly [value: unknown, field: readonly string[], row: readonly number[]];

interface Collected {
  readonly values: readonly Sample[];
  readonly rows: readonly Sample[];
  /** True if values were left out because there are too many. */
  readonly isCut: boolean;
}

/** Returns the samples of one answer. Accepts anything that a router can send. */
function collect(resource: string, body: unknown): Collected {
  const status: unknown = isPlainObject(body) ? (body['status'] ?? body) : undefined;
  const waiting: Place[] = [[status, [], []]];
  const values = new Map<string, Sample>();
  let rows: number | undefined;
  let isCut = false;
  const takeFirst = <T>(all: readonly T[]): readonly T[] => {
    const room = VALUES_MAX - waiting.length;
    isCut ||= all.length > room;
    return all.slice(0, room);
  };
  // Grows while it is walked, up to its bound.
  for (const place of waiting) {
    const [value, field, row] = place;
    if (field.length + row.length > DEPTH_MAX) continue;
    if (Array.isArray(value)) {
      if (row.length === 0) rows = (rows ?? 0) + value.length;
      waiting.push(...takeFirst(value).map((entry, index): Place => [entry, field, [...row, index + 1]]));
    } else if (isPlainObject(value)) {
      const entries = takeFirst(Object.entries(value));
      // A row such as { name: "IMEI", value: "…" }.
      if (entries.some(([name, text]) => NAMING_FIELD.test(name) && typeof text === 'string' && classifyName(text)))
        continue;
      for (const [name, inner] of entries) {
        const isWrapper = field.length === 0 && ['unique', 'list'].includes(name) && typeof inner === 'object';
        waiting.push([inner, isWrapper ? field : [...field, name], row]);
      }
    } else {
      const sample = toSample(resource, place);
      if (sample) values.set(JSON.stringify(sample.labels), sample);
    }
  }
  return {
    isCut,
    values: [...values.values()],
    rows: rows === undefined ? [] : [{ labels: { resource }, value: rows }],
  };
}

function toSample(resource: string, [value, path, row]: Place): Sample | undefined {
  const field = path.join('.');
  const read = toPlainText(value);
  if (!read || !('text' in read) || field === '' || field.length > FIELD_CHARS_MAX) return undefined;
  const isUnfit = (name: string) => !FIELD_NAME.test(name) || isSensitiveText(classifyName(name), name, read.text);
  if (IDENTITY.test(read.text) || path.some(isUnfit)) return undefined;
  const number = FLAGS.get(read.text.toLowerCase()) ?? toNumber(read.text);
  if (number === undefined) return undefined;
  return { labels: { resource, field: field.toWellFormed(), row: row.join('.') }, value: number };
}

/** Numbers without a unit or with a known one. */
function toNumber(text: string): number | undefined {
  const quantity = parseQuantity(text);
  if (!quantity || Math.abs(quantity.value) > Number.MAX_SAFE_INTEGER) return undefined;
  const unit = quantity.unit === '' ? undefined : findUnit(quantity.unit);
  if (quantity.unit !== '' && !unit) return undefined;
  return unit ? toBaseUnit(quantity.value, unit) : quantity.value;
}
