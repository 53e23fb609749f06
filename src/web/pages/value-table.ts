import { compareNaturally, renderBytes, renderCount, renderMany } from '../../base/index.ts';
import type { FamilyValues, ModuleValues, RouterDetail } from '../api/router-detail.ts';
import type { InterfaceRate } from '../api/routers.ts';
import { type Html, html, NOTHING, renderBitRate, renderLength, renderMoment, toSentence, toShown } from './html.ts';
import { hasCurrentValues, renderSignal, type SignalKind } from './router-facts.ts';
import { type Column, renderTable } from './table.ts';

/** Two rows with more columns than this are two lists: a table would be wider than the screen. */
const COLUMNS_OF_TWO_MAX = 8;
/** Shipped modules by the part of the page that shows them; `device` also shows all others, such as modules of users. */
const MODULES: Readonly<Record<string, readonly string[]>> = {
  network: ['wan', 'interfaces', 'interface_addresses', 'ports', 'sfp', 'dhcp'],
  modem: ['modem', 'modem_identity', 'cells'],
  configuration: ['profiles', 'configuration'],
  device: ['device', 'system', 'supply', 'io'],
};
/** Headings that differ from the module name. */
const TITLES: Readonly<Record<string, string>> = {
  wan: 'WAN',
  sfp: 'SFP',
  io: 'Inputs and outputs',
  dhcp: 'DHCP',
  interface_addresses: 'Addresses of interfaces',
};
const EMPTY: Readonly<Record<string, string>> = {
  network: 'The router has reported no interface, port or WAN chain.',
  modem: 'The router has reported no modem.',
  device: 'The router has reported nothing about itself.',
  configuration: 'The router has reported no profile.',
};
const RECEIVED = 'router_interface_receive_bytes_total';
const CHANGES = 'router_config_changes_total';
const POSITION = 'router_wan_chain_member_info position';

/** Values as old as this say so: those of slow modules. Seconds. */
const AGE_SHOWN_S = 120;

/** Drawings by the title of the row to which they belong. */
type Charts = ReadonlyMap<string, Html>;

/**
 * Renders the reported values of one part of the page by module, with charts in the module of the same name. User modules need no code of
 * their own.
 */
export function renderValues(router: RouterDetail, view: string, charts: Charts = new Map()): Html | string {
  const all = Object.values(MODULES).flat();
  const own = MODULES[view] ?? [];
  const rank = (module: string) => (own.includes(module) ? own.indexOf(module) : own.length);
  const shown = router.values
    .filter(({ module }) => own.includes(module) || (view === 'device' && !all.includes(module)))
    .toSorted((a, b) => rank(a.module) - rank(b.module));
  if (shown.length === 0) return html`<p class="soft">${EMPTY[view] ?? ''}</p>`;
  return html`<div class="values">
${shown.map((one) => renderModule(one, router, one.module === view ? charts : new Map()))}
</div>`;
}

function renderModule({ module, help, families }: ModuleValues, router: RouterDetail, charts: Charts): Html {
  const name = TITLES[module] ?? toSentence(toShown(module.replaceAll('_', ' ')));
  const isCurrent = findCurrent(router);
  const ages = families.flatMap(({ ageSeconds, resource }) =>
    ageSeconds === null || (isCurrent(resource) && ageSeconds < AGE_SHOWN_S) ? [] : [ageSeconds],
  );
  const age =
    ages.length === 0 ? '' : html` <span class="soft">· last read ${renderLength(Math.max(...ages))} ago</span>`;
  return html`<section><h2>${name}${age}</h2>
${help === '' ? '' : html`<p class="soft">${toShown(help)}</p>`}
${createValueTables(families, isCurrent).map((table) => renderValueTable(withRates(table, router.interfaceRates), name, charts))}
</section>
`;
}

/** Returns whether the values of a resource are current: the router is up, and the last read did not fail. */
function findCurrent(router: RouterDetail): (resource: string) => boolean {
  const failed = new Set(router.resources.filter((one) => one.state === 'failed').map(({ resource }) => resource));
  return (resource) => hasCurrentValues(router) && !failed.has(resource);
}

function withRates(table: ValueTable, rates: readonly InterfaceRate[]): ValueTable {
  if (!table.columns.some(({ family }) => family === RECEIVED) || rates.length === 0) return table;
  const byName = new Map(rates.map((rate) => [toShown(rate.interface), rate]));
  const toCell = (rate: number | null | undefined): Cell => ({
    shown: renderBitRate(rate),
    kind: (rate ?? 0) === 0 ? 'zero' : 'other',
  });
  for (const { title, cells } of table.rows) {
    cells.set('receive rate', toCell(byName.get(title)?.receiveBytesPerSecond));
    cells.set('transmit rate', toCell(byName.get(title)?.transmitBytesPerSecond));
  }
  const columns = [
    { key: 'receive rate', title: 'Receiving', help: 'Bits received per second between the last two polls.' },
    { key: 'transmit rate', title: 'Sending', help: 'Bits sent per second between the last two polls.' },
  ].map((column): ValueColumn => ({ ...column, family: RECEIVED }));
  return { ...table, columns: [...columns, ...table.columns] };
}

const NAME: Column<ValueRow> = {
  title: 'Name',
  cell: ({ title }) => html`<bdi>${title === '' ? NOTHING : title}</bdi>`,
};

function renderValueTable({ rows, columns, rest, kind }: ValueTable, name: string, charts: Charts): Html {
  const isList = rows.length === 1 || (rows.length === 2 && columns.length > COLUMNS_OF_TWO_MAX);
  if (isList || rows.some(({ title }) => charts.has(title)))
    return html`${rows.map((row) => renderList(row, columns, charts.get(row.title)))}`;
  const cells: Column<ValueRow>[] = columns.map(({ key, title, help }) => ({
    title,
    help,
    cell: ({ cells: all }) => renderCell(all.get(key)),
  }));
  const caption = `${name}${kind === '' ? '' : `, by ${toShown(kind, 60)}`}${rest > 0 ? `, without ${renderCount(rest)} more` : ''}`;
  const renderRows = (some: readonly ValueRow[], words: string) =>
    renderTable({
      caption: `${caption}${words}`,
      columns: rows.some(({ title }) => title !== '') ? [NAME, ...cells] : cells,
      rows: some,
      empty: 'No values.',
    });
  const [zero, others] = partitionZero(rows, ({ cells: all }) => [...all.values()]);
  return html`${renderRows(others, '')}${renderZero(zero.length, 'row', () => renderRows(zero, ', zero'))}`;
}

function renderList({ title, cells }: ValueRow, columns: readonly ValueColumn[], chart: Html | undefined): Html {
  const filled = columns.filter(({ key }) => (cells.get(key)?.shown ?? '') !== '');
  const [zero, others] = partitionZero(filled, ({ key }) => [cells.get(key)]);
  const renderFacts = (some: readonly ValueColumn[]) =>
    html`<dl class="facts">${some.map(
      ({ key, title: name, help }) =>
        html`<dt title="${toShown(help)}">${name}</dt><dd>${renderCell(cells.get(key))}</dd>`,
    )}</dl>`;
  return html`${title === '' ? '' : html`<h3><bdi>${title}</bdi></h3>`}${chart ?? ''}${renderFacts(others)}${renderZero(zero.length, 'value', () => renderFacts(zero))}`;
}

function renderCell(cell: Cell | undefined): Html {
  return html`<bdi>${cell?.shown ?? ''}</bdi>`;
}

/** Separates what is all zero; nothing if that is all there is. Names of things are no values. */
function partitionZero<T>(all: readonly T[], toCells: (one: T) => readonly (Cell | undefined)[]): readonly [T[], T[]] {
  const isZero = (one: T) => {
    const kinds = new Set(toCells(one).map((cell) => cell?.kind ?? 'name'));
    return kinds.has('zero') && !kinds.has('other');
  };
  const zero = all.filter(isZero);
  return zero.length === all.length ? [[], [...all]] : [zero, all.filter((one) => !isZero(one))];
}

function renderZero(count: number, what: string, render: () => Html): Html | string {
  if (count === 0) return '';
  return html`<details class="zero"><summary>${renderMany(count, what)} ${count === 1 ? 'is' : 'are'} zero</summary>${render()}</details>`;
}

/** Units by the suffix of a metric name; the first match applies. */
const UNITS: readonly (readonly [end: RegExp, render: (value: number) => Html | string])[] = [
  [/(_timestamp_seconds|_modified|_last_activated)$/, (value) => renderMoment(toTime(value))],
  [/_bytes_per_second$/, renderBitRate],
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

/** Families of the shipped module for modems. */
const SIGNAL = /^router_modem_(?:signal_)?(rsrp|rsrq|sinr|rssi|csq)(?:_dbm?)?$/;
/** Zero says something: it is shown with the other values. */
const TELLING_ZERO = /_celsius$|_retries$/;

/** Renders a metric value with the unit in its name; yes or no if one of them is good or the help begins with "Whether". */
function renderMetricValue({ name, help, good, type }: FamilyValues, value: number, isCurrent: boolean): Cell {
  if (!Number.isFinite(value)) return { shown: String(value), kind: 'other' };
  if ((value === 0 || value === 1) && type === 'gauge' && (good !== null || help.startsWith('Whether '))) {
    const word = value === 1 ? 'yes' : 'no';
    if (good === null || !isCurrent) return { shown: word, kind: 'other' };
    if (value === good) return { shown: html`<span class="good">${word}</span>`, kind: 'other' };
    return { shown: html`<strong class="warn">${word}</strong>`, kind: 'other', isBad: true };
  }
  const signal = SIGNAL.exec(name)?.[1] as SignalKind | undefined;
  if (signal) return { shown: renderSignal({ kind: signal, value }, isCurrent), kind: 'other' };
  const unit = UNITS.find(([end]) => end.test(name));
  return {
    shown: unit ? unit[1](value) : String(round(value)),
    kind: value === 0 && !TELLING_ZERO.test(name) ? 'zero' : 'other',
  };
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}

function toTime(seconds: number): string | null {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

/** One row, such as an interface, with the values of all families. */
interface ValueRow {
  /** Identifying labels as text; empty if there is only one row. */
  readonly title: string;
  /** By {@link ValueColumn.key}. */
  readonly cells: Map<string, Cell>;
}

/** One value. `name`: a text, which is neither zero nor not. */
interface Cell {
  readonly shown: Html | string;
  readonly kind: 'zero' | 'other' | 'name';
  readonly isBad?: boolean;
}

interface ValueColumn {
  readonly key: string;
  title: string;
  readonly help: string;
  readonly family: string;
  /** True if the title is made of the name, and may lose what all these begin with. */
  readonly isNamed?: boolean;
}

interface ValueTable {
  readonly rows: readonly ValueRow[];
  readonly columns: readonly ValueColumn[];
  /** Rows omitted. */
  readonly rest: number;
  /** Identifying labels, as in `slot, port`. */
  readonly kind: string;
}

/** A router may list a thousand of something. */
const ROWS_MAX = 100;
const COLUMNS_MAX = 40;
const TEXT_CHARS_MAX = 120;

/** Words written in capitals. */
const SHORT_FORMS = /\b(?:apn|iccid|imei|imsi|ip|mac|mtu|pin|sim|wan)\b/g;

interface Draft {
  readonly rows: Map<string, ValueRow>;
  readonly columns: Map<string, ValueColumn>;
  rest: number;
}

/**
 * Turns the families of a module into tables: one table for each set of identifying labels, one row for each combination of their values,
 * one column for each family or label of an info.
 */
function createValueTables(
  families: readonly FamilyValues[],
  isCurrent: (resource: string) => boolean,
): readonly ValueTable[] {
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
      // An info with several samples for the same row is a list.
      const count = seen.get(title) ?? 0;
      if (family.type === 'info') seen.set(title, count + 1);
      const row = findRow(draft, `${title}#${count}`, title);
      if (!row) continue;
      const ownNames = new Set(own.map(([name]) => name));
      addCells(draft, row, { family, labels, value, own: ownNames, isCurrent: isCurrent(family.resource) });
    }
  }
  return [...drafts].map(([kind, draft]) => ({ ...finish(draft), kind: kind.replaceAll(',', ', ') }));
}

/** True if these labels identify all samples; of a state set, those of the current states. */
function areUnique({ type, samples }: FamilyValues, keys: readonly string[]): boolean {
  const relevant = type === 'stateset' ? samples.filter(({ value }) => value === 1) : samples;
  return new Set(relevant.map(({ labels }) => JSON.stringify(keys.map((key) => labels[key])))).size === relevant.length;
}

/** Lists the identifying labels. Labels of an info that are no key of any family are its content. */
function listOwnLabels(
  { type, stateLabel, keys: familyKeys }: FamilyValues,
  labels: Readonly<Record<string, string>>,
  keys: ReadonlySet<string>,
): readonly (readonly [name: string, text: string])[] {
  const all = Object.entries(labels);
  if (type !== 'info') return all.filter(([name]) => name !== stateLabel);
  const own = all.filter(([name]) => keys.has(name));
  // If all labels are keys of families, those of its own family identify it, and the others are its content.
  return own.length < all.length ? own : all.filter(([name]) => familyKeys.includes(name));
}

function findRow(draft: Draft, key: string, title: string): ValueRow | undefined {
  const known = draft.rows.get(key);
  if (known) return known;
  if (draft.rows.size >= ROWS_MAX) {
    draft.rest++;
    return undefined;
  }
  const row: ValueRow = { title, cells: new Map() };
  draft.rows.set(key, row);
  return row;
}

interface FoundSample {
  readonly family: FamilyValues;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  readonly own: ReadonlySet<string>;
  readonly isCurrent: boolean;
}

function addCells(draft: Draft, row: ValueRow, { family, labels, value, own, isCurrent }: FoundSample): void {
  const { name, help, label, type, stateLabel } = family;
  const add = (key: string, title: string, cell: Cell) => {
    if (!draft.columns.has(key) && draft.columns.size >= COLUMNS_MAX) return;
    const isNamed = key === name && label === null;
    if (!draft.columns.has(key)) draft.columns.set(key, { key, title, help, family: name, isNamed });
    row.cells.set(key, isCurrent ? cell : { ...cell, shown: html`<span class="expired">${cell.shown}</span>` });
  };
  const addText = (key: string, title: string, text: string) =>
    add(key, title, { shown: toShown(text, TEXT_CHARS_MAX), kind: 'name' });
  const title = label === null ? toWords(name) : toShown(label);
  const others = Object.entries(labels).filter(([one]) => !own.has(one) && one !== stateLabel);
  if (type === 'info') {
    for (const [one, text] of others)
      addText(`${name} ${one}`, others.length === 1 && label ? title : toWords(one), text);
  } else if (type === 'stateset') {
    for (const [one, text] of others) addText(`label ${one}`, toWords(one), text);
    if (value === 1) addText(name, title, labels[stateLabel ?? ''] ?? '');
  } else if (others.length === 1 && NAMES_CURRENT.test(help)) addText(name, title, others[0]?.[1] ?? '');
  else {
    for (const [one, text] of others) addText(`label ${one}`, toWords(one), text);
    add(name, title, renderMetricValue(family, value, isCurrent));
  }
}

/** The text is in a label, as that of a SIM card: the value says nothing more. */
const NAMES_CURRENT = /: 1 for the (?:current one|one in use)\./;

/** What is bad or changed first, then by name. */
function compareRows(a: ValueRow, b: ValueRow): number {
  return toWeight(b) - toWeight(a) || compareNaturally(a.title, b.title);
}

function toWeight({ cells }: ValueRow): number {
  const hasChanged = (cells.get(CHANGES)?.kind ?? 'zero') !== 'zero';
  return cells.values().some(({ isBad }) => isBad === true) ? 2 : hasChanged ? 1 : 0;
}

function finish({ rows, columns, rest }: Draft): Omit<ValueTable, 'kind'> {
  const all = [...columns.values()];
  const common = findCommonWords(all.filter(({ isNamed }) => isNamed).map(({ title }) => title));
  for (const column of all) {
    if (common !== '' && column.isNamed) column.title = column.title.slice(common.length);
    column.title = toSentence(column.title);
  }
  // The router names the members of a chain in their order.
  const found = [...rows.values()];
  return { rows: columns.has(POSITION) ? found : found.toSorted(compareRows), columns: all, rest };
}

const UNIT_IN_NAME = /_(total|celsius|volts|amperes|dbm?|watts|hertz|meters|ratio|(timestamp_)?seconds)$/;

/** `router_interface_receive_bytes_total`: `interface receive bytes`. */
function toWords(name: string): string {
  return name
    .replace(/^router_/, '')
    .replace(UNIT_IN_NAME, '')
    .replaceAll('_', ' ')
    .replaceAll(SHORT_FORMS, (word) => word.toUpperCase());
}

/** Returns the words with which all titles begin, with the following space. */
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
