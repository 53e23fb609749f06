import { renderBytes, renderCount } from '../../base/index.ts';
import type { FamilyValues, ModuleValues, RouterDetail } from '../api/router-detail.ts';
import type { InterfaceRate } from '../api/routers.ts';
import { type Html, html, NOTHING, renderBitRate, renderLength, renderMoment, toSentence, toShown } from './html.ts';
import { hasCurrentValues } from './router-facts.ts';
import { type Column, renderTable } from './table.ts';

/** Up to so many rows are shown as lists with the whole help; more as a table. */
const LISTS_MAX = 2;
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

const EXPIRED = html` class="expired"`;

/** Renders the reported values of one part of the page by module. User modules need no code of their own. */
export function renderValues(router: RouterDetail, view: string): Html | string {
  const { values, resources, interfaceRates } = router;
  const all = Object.values(MODULES).flat();
  const own = MODULES[view] ?? [];
  const rank = (module: string) => (own.includes(module) ? own.indexOf(module) : own.length);
  const shown = values
    .filter(({ module }) => own.includes(module) || (view === 'device' && !all.includes(module)))
    .toSorted((a, b) => rank(a.module) - rank(b.module));
  const expired = new Set(
    resources.filter(({ state }) => state === 'failed' || !hasCurrentValues(router)).map(({ resource }) => resource),
  );
  if (shown.length === 0) return html`<p class="soft">${EMPTY[view] ?? ''}</p>`;
  return html`<div class="values">
${shown.map((module) => renderModule(module, expired, interfaceRates))}
</div>`;
}

function renderModule(
  { module, help, families }: ModuleValues,
  expired: ReadonlySet<string>,
  rates: readonly InterfaceRate[],
): Html {
  const name = toShown(module.replaceAll('_', ' '));
  return html`<section><h2>${TITLES[module] ?? toSentence(name)}</h2>
${help === '' ? '' : html`<p class="soft">${toShown(help)}</p>`}
${createValueTables(families, expired).map((table) => renderValueTable(withRates(table, rates), name))}
</section>
`;
}

function withRates(table: ValueTable, rates: readonly InterfaceRate[]): ValueTable {
  if (!table.columns.some(({ family }) => family === RECEIVED) || rates.length === 0) return table;
  const byName = new Map(rates.map((rate) => [toShown(rate.interface), rate]));
  for (const { title, cells } of table.rows) {
    cells.set('receive rate', renderBitRate(byName.get(title)?.receiveBytesPerSecond));
    cells.set('transmit rate', renderBitRate(byName.get(title)?.transmitBytesPerSecond));
  }
  const columns = [
    { key: 'receive rate', title: 'receive rate', help: 'Bits received per second between the last two polls.' },
    { key: 'transmit rate', title: 'transmit rate', help: 'Bits sent per second between the last two polls.' },
  ].map((column): ValueColumn => ({ ...column, family: RECEIVED }));
  return { ...table, columns: [...columns, ...table.columns] };
}

function renderValueTable({ rows, columns, rest, kind }: ValueTable, name: string): Html {
  if (rows.length <= LISTS_MAX) return html`${rows.map((row) => renderList(row, columns))}`;
  const cells: Column<ValueRow>[] = columns.map(({ key, title, help }) => ({
    title: toSentence(title),
    help,
    cell: ({ cells: all, isExpired }) => html`<bdi${isExpired ? EXPIRED : ''}>${all.get(key) ?? ''}</bdi>`,
  }));
  return html`${renderTable({
    caption: `${toSentence(name)}${kind === '' ? '' : `, by ${toShown(kind, 60)}`}${rest > 0 ? `, without ${renderCount(rest)} more` : ''}`,
    columns: [
      { title: 'Name', cell: ({ title }) => html`<bdi>${title === '' ? NOTHING : title}</bdi>` },
      ...cells,
      { title: 'Age', kind: 'number', cell: ({ ageSeconds }) => renderLength(ageSeconds) },
    ],
    rows,
    empty: 'No values.',
  })}<details class="help"><summary>What the columns mean</summary><dl>${columns.map(
    ({ title, help }) => html`<dt>${toSentence(title)}</dt><dd>${toShown(help)}</dd>`,
  )}</dl></details>`;
}

function renderList({ title, cells, ageSeconds, isExpired }: ValueRow, columns: readonly ValueColumn[]): Html {
  return html`${title === '' ? '' : html`<h3><bdi>${title}</bdi></h3>`}<dl class="facts">${columns.map(
    ({ key, title: name, help, family }) => {
      const cell = cells.get(key);
      if (cell === undefined || cell === '') return '';
      const shown = key === family ? toShown(help.replace(/(: 1 for .*)?\.$/, '')) : toSentence(name);
      return html`<dt title="${toShown(key === family ? family : help)}">${shown}</dt><dd><bdi${isExpired ? EXPIRED : ''}>${cell}</bdi></dd>`;
    },
  )}<dt>Age of these values</dt><dd>${renderLength(ageSeconds)}</dd></dl>`;
}

/** Units by the suffix of a metric name; the first match applies. */
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

/** Metrics whose "no" is a fault; for others, such as a port without a link, it may be intended. */
const FAULT_IF_NOT = /_(?:ok|online)$/;

/** Renders a metric value with the unit in its name; yes or no if the help begins with "Whether". */
function renderMetricValue(name: string, help: string, value: number): Html | string {
  if (!Number.isFinite(value)) return String(value);
  if (help.startsWith('Whether ') && (value === 0 || value === 1))
    return value === 1 ? 'yes' : FAULT_IF_NOT.test(name) ? html`<strong class="warn">no</strong>` : 'no';
  const unit = UNITS.find(([end]) => end.test(name));
  return unit ? unit[1](value) : String(round(value));
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
  readonly cells: Map<string, Html | string>;
  /** Age of the oldest value. */
  ageSeconds: number | null;
  /** True if a resource of its values could not be read last, or the router is not up. */
  isExpired: boolean;
}

interface ValueColumn {
  readonly key: string;
  title: string;
  readonly help: string;
  readonly family: string;
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
function createValueTables(families: readonly FamilyValues[], expired: ReadonlySet<string>): readonly ValueTable[] {
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
      row.ageSeconds = family.ageSeconds === null ? row.ageSeconds : Math.max(row.ageSeconds ?? 0, family.ageSeconds);
      row.isExpired ||= expired.has(family.resource);
      addCells(draft, row, family, labels, value, new Set(own.map(([name]) => name)));
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
  const row: ValueRow = { title, cells: new Map(), ageSeconds: null, isExpired: false };
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
