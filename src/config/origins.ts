import type { Place } from '../settings/index.ts';

export interface LayerOrigin {
  readonly file: string;
  /** Line, or flag that set the key, by dotted path such as `poll.interval`. */
  readonly lines: Readonly<Record<string, number | string>>;
  /** Keys of the layers below that this one replaces as a whole; `lines` has only these. Absent: none. */
  readonly replaces?: readonly string[] | undefined;
}

/** Where each key is written, nearest layer first. A key in no layer has its default. */
export interface ConfigOrigins {
  readonly main: readonly LayerOrigin[];
  readonly routers: ReadonlyMap<string, readonly LayerOrigin[]>;
}

export const SECTIONS = [
  ...(['web', 'storage', 'cluster', 'schedule', 'connections', 'router_sources', 'backup', 'sinks'] as const),
  ...(['dead_letters', 'log_rules', 'redact'] as const),
];

export function readOrigin({ file, path }: Place, prefix = '', lines: Record<string, number> = {}): LayerOrigin {
  const value = file.source.valueAt(path);
  const isList = Array.isArray(value);
  const parts = typeof value === 'object' && value !== null && file.faults.size === 0 ? Object.entries(value) : [];
  // A list is shown as one value, unless its items are maps.
  if (prefix !== '' && (isList || parts.length === 0)) lines[prefix] = file.source.locate(path, 'key').line;
  for (const [step, part] of parts) {
    if (isList && typeof part !== 'object') continue;
    const place = { file, path: [...path, isList ? Number(step) : step] };
    readOrigin(place, prefix === '' ? step : `${prefix}.${step}`, lines);
  }
  return { file: file.name, lines };
}

export function readMainOrigin(main: Place['file'], flags: Readonly<Record<string, string>>): LayerOrigin {
  const lines: Record<string, number> = {};
  for (const section of SECTIONS) {
    const place = { file: main, path: [section] };
    if (main.source.valueAt(place.path) !== undefined) readOrigin(place, section, lines);
  }
  return { file: main.name, lines: { ...lines, ...flags } };
}

/** Returns `file:line`, the flag that set the key, or `default`. */
export function findOrigin(key: string, layers: readonly LayerOrigin[]): string {
  for (const { file, lines, replaces } of layers) {
    const isFinal = replaces?.some((one) => key === one || key.startsWith(`${one}.`));
    if (isFinal === false) continue;
    const written = [key, `${key}_file`, key.replace(/\bheaders\b/, 'header_files')];
    const index = indexLines(lines);
    const [line] = written.flatMap((one) => index.get(one) ?? []);
    if (line !== undefined) return typeof line === 'string' ? line : `${file}:${line}`;
    if (isFinal) break;
  }
  return 'default';
}

const indexes = new WeakMap<LayerOrigin['lines'], ReadonlyMap<string, number | string>>();

/** A map may be shown as one value; its line is that of its first key. */
function indexLines(lines: LayerOrigin['lines']): ReadonlyMap<string, number | string> {
  const known = indexes.get(lines);
  if (known) return known;
  const index = new Map<string, number | string>();
  for (const [path, line] of Object.entries(lines)) {
    for (let end = path.length; end > 0; end = path.lastIndexOf('.', end - 1)) {
      const key = path.slice(0, end);
      if (!index.has(key)) index.set(key, line);
    }
  }
  indexes.set(lines, index);
  return index;
}
