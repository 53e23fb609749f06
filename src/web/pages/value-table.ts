import type { FamilyValues } from '../api/router-detail.ts';
import { type Html, html, toShown } from './html.ts';
import { renderBytes, renderCount, renderLength, renderMoment } from './quantities.ts';

/** Units by the end of a name, as the naming rules of metrics have it. The first that fits holds. */
const UNITS: readonly (readonly [end: RegExp, render: (value: number) => Html | string])[] = [
  [/(_timestamp_seconds|_modified|_last_activated)$/, (value) => renderMoment(toTime(value))],
  [/_bytes_per_second$/, (value) => `${renderBytes(value)}/s`],
  [/_bytes(_total)?$/, renderBytes],
  [/_seconds(_total)?$/, renderLength],
  [/_ratio$/, (value) => `${round(value * 100)} %`],
  [/_celsius$/, (value) => `${round(value)} °C`],
  [/_volts$/, (value) => `${round(value)} V`],
  [/_amperes$/, (value) => `${round(value)} A`],
  [/_dbm$/, (value) => `${round(value)} dBm`],
  [/_db$/, (value) => `${round(value)} dB`],
  [/_watts$/, (value) => `${round(value)} W`],
  [/_hertz$/, (value) => `${round(value)} Hz`],
  [/_meters$/, (value) => `${round(value)} m`],
  [/_total$/, renderCount],
];

/** Names of which a "no" is a fault; of others, such as whether a port has a link, it may be as it should be. */
const FAULT_IF_NOT = /_(?:ok|online)$/;

/** Renders the value of a metric with its unit, which is the end of its name; a yes or no where its help says "Whether". */
function renderMetricValue(name: string, help: string, value: number): Html | string {
  if (!Number.isFinite(value)) return String(value);
  if (help.startsWith('Whether ') && (value === 0 || value === 1))
    return value === 1 ? 'yes' : FAULT_IF_NOT.test(name) ? html`<strong class="warn">no</strong>` : 'no';
  const unit = UNITS.find(([end]) => end.test(name));
  return unit ? unit[1](value) : String(round(value));
}

/** Three digits after the point at most. */
function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}

function toTime(seconds: number): string | null {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

/** One thing of a router, such as an interface, with all that its families say about it. */
export interface ValueRow {
  /** Labels that tell it from others, as text; empty when there is only one. */
  readonly title: string;
  /** Rendered values by {@link ValueColumn.key}. */
  readonly cells: Map<string, Html | string>;
  /** Age of its oldest value. */
  ageSeconds: number | null;
}

/** One property of all rows. */
export interface ValueColumn {
  readonly key: string;
  /** Short name. */
  title: string;
  /** The help of its family. */
  readonly help: string;
  /** Name of its family. */
  readonly family: string;
}

/** Values of one kind of thing. */
export interface ValueTable {
  readonly rows: readonly ValueRow[];
  readonly columns: readonly ValueColumn[];
  /** Rows that are left out. */
  readonly rest: number;
  /** Labels that tell the rows apart, as in `slot, port`. */
  readonly kind: string;
}

/** Rows of one table: a router may list a thousand of something. */
const ROWS_MAX = 100;
const COLUMNS_MAX = 40;
const TEXT_CHARS_MAX = 120;

/** Words of names that are written in capitals. */
const SHORT_FORMS = /\b(?:apn|iccid|imei|imsi|ip|mac|mtu|pin|sim|wan)\b/g;

interface Draft {
  readonly rows: Map<string, ValueRow>;
  readonly columns: Map<string, ValueColumn>;
  rest: number;
}

/**
 * Turns the families of a module into tables: one for each set of labels that tells things apart, one row for each of
 * these things, one column for each family or label of an info.
 */
export function createValueTables(families: readonly FamilyValues[]): readonly ValueTable[] {
  const keys = new Set(families.flatMap((family) => family.keys));
  const common = families.reduce<readonly string[]>(
    (left, family) => left.filter((key) => family.keys.includes(key)),
    families[0]?.keys ?? [],
  );
  const drafts = new Map<string, Draft>();
  for (const family of families) {
    const seen = new Map<string, number>();
    const isCommon = common.length > 0 && family.type !== 'info' && areUnique(family, common);
    for (const { labels, value } of family.samples) {
      const own = isCommon
        ? Object.entries(labels).filter(([name]) => common.includes(name))
        : listOwnLabels(family, labels, keys);
      const kind = own
        .map(([name]) => name)
        .toSorted()
        .join(',');
      const draft = drafts.get(kind) ?? {
        rows: new Map<string, ValueRow>(),
        columns: new Map<string, ValueColumn>(),
        rest: 0,
      };
      drafts.set(kind, draft);
      const title = own.map(([, text]) => toShown(text, TEXT_CHARS_MAX)).join(' · ');
      // An info with several samples for the same thing is a list.
      const count = seen.get(title) ?? 0;
      if (family.type === 'info') seen.set(title, count + 1);
      const row = findRow(draft, `${title}#${count}`, title);
      if (!row) continue;
      row.ageSeconds = family.ageSeconds === null ? row.ageSeconds : Math.max(row.ageSeconds ?? 0, family.ageSeconds);
      addCells(draft, row, family, labels, value, new Set(own.map(([name]) => name)));
    }
  }
  return [...drafts].map(([kind, draft]) => ({ ...finish(draft), kind: kind.replaceAll(',', ', ') }));
}

/** Returns true if these labels tell all samples apart; of a state set, all but its states. */
function areUnique({ type, samples }: FamilyValues, keys: readonly string[]): boolean {
  const relevant = type === 'stateset' ? samples.filter(({ value }) => value === 1) : samples;
  return new Set(relevant.map(({ labels }) => JSON.stringify(keys.map((key) => labels[key])))).size === relevant.length;
}

/** Lists the labels that tell a thing apart. Those of an info which are no key of any family are its content. */
function listOwnLabels(
  { type, stateLabel, keys: familyKeys }: FamilyValues,
  labels: Readonly<Record<string, string>>,
  keys: ReadonlySet<string>,
): readonly (readonly [name: string, text: string])[] {
  const all = Object.entries(labels);
  if (type !== 'info') return all.filter(([name]) => name !== stateLabel);
  const own = all.filter(([name]) => keys.has(name));
  // Then the info says which of the things it is about.
  return own.length < all.length ? own : all.filter(([name]) => familyKeys.includes(name));
}

function findRow(draft: Draft, key: string, title: string): ValueRow | undefined {
  const known = draft.rows.get(key);
  if (known) return known;
  if (draft.rows.size >= ROWS_MAX) {
    draft.rest++;
    return undefined;
  }
  const row: ValueRow = { title, cells: new Map(), ageSeconds: null };
  draft.rows.set(key, row);
  return row;
}

function addCells(
  draft: Draft,
  row: ValueRow,
  { name, help, type, stateLabel }: FamilyValues,
  labels: Readonly<Record<string, string>>,
  value: number,
  own: ReadonlySet<string>,
): void {
  const add = (key: string, title: string, cell: Html | string) => {
    if (!draft.columns.has(key) && draft.columns.size >= COLUMNS_MAX) return;
    if (!draft.columns.has(key)) draft.columns.set(key, { key, title, help, family: name });
    row.cells.set(key, cell);
  };
  if (type === 'info') {
    for (const [label, text] of Object.entries(labels)) {
      if (!own.has(label)) add(`${name} ${label}`, toWords(label), toShown(text, TEXT_CHARS_MAX));
    }
    return;
  }
  for (const [label, text] of Object.entries(labels)) {
    if (!own.has(label) && label !== stateLabel) add(`label ${label}`, toWords(label), toShown(text, TEXT_CHARS_MAX));
  }
  if (type === 'stateset') {
    if (value === 1) add(name, toWords(name), toShown(labels[stateLabel ?? ''] ?? '', TEXT_CHARS_MAX));
  } else add(name, toWords(name), renderMetricValue(name, help, value));
}

function finish({ rows, columns, rest }: Draft): Omit<ValueTable, 'kind'> {
  const all = [...columns.values()];
  const common = findCommonWords(all.filter(({ key, family }) => key === family).map(({ title }) => title));
  for (const column of all) {
    if (common !== '' && column.title.startsWith(common)) column.title = column.title.slice(common.length);
  }
  return { rows: [...rows.values()], columns: all, rest };
}

/** `router_interface_receive_bytes_total`: `interface receive bytes`. */
function toWords(name: string): string {
  return name
    .replace(/^router_/, '')
    .replace(/_total$/, '')
    .replaceAll('_', ' ')
    .replaceAll(SHORT_FORMS, (word) => word.toUpperCase());
}

/** The words with which all titles begin, with the space after them. */
function findCommonWords(titles: readonly string[]): string {
  const [first, ...others] = titles;
  if (first === undefined || others.length === 0) return '';
  const words = first.split(' ');
  let common = '';
  for (const word of words.slice(0, -1)) {
    const next = `${common}${word} `;
    if (!others.every((title) => title.startsWith(next))) break;
    common = next;
  }
  return common;
}
