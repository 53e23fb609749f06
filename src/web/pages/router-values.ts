import type { InterfaceRate, ModuleValues, RouterDetail } from '../api/router-detail.ts';
import { type Html, html, toSentence, toShown } from './html.ts';
import { NOTHING, renderBytes, renderCount, renderLength } from './quantities.ts';
import { type Column, renderTable } from './table.ts';
import { createValueTables, type ValueColumn, type ValueRow, type ValueTable } from './value-table.ts';

/** Up to so many things are shown as lists of facts with the whole help; more as a table. */
const LISTS_MAX = 2;
/** Shipped modules that come first; all others follow in the order of the configuration. */
const FIRST = [
  'modem',
  'wan',
  'interfaces',
  'interface_addresses',
  'ports',
  'sfp',
  'supply',
  'io',
  'system',
  'device',
  'profiles',
];
/** Headings that are not the name of the module. */
const TITLES: Readonly<Record<string, string>> = {
  wan: 'WAN',
  sfp: 'SFP',
  io: 'Inputs and outputs',
  dhcp: 'DHCP',
  interface_addresses: 'Addresses of interfaces',
};
const RECEIVED = 'router_interface_receive_bytes_total';

/** Renders all values that the router reported, module by module. Modules of the user need no code of their own. */
export function renderValues({ values, interfaceRates }: RouterDetail): Html | string {
  if (values.length === 0) return '';
  const rank = ({ module }: ModuleValues) => (FIRST.includes(module) ? FIRST.indexOf(module) : FIRST.length);
  return html`<h2>Values</h2>
<div class="values">
${values.toSorted((a, b) => rank(a) - rank(b)).map((module) => renderModule(module, interfaceRates))}
</div>`;
}

function renderModule({ module, help, families }: ModuleValues, rates: readonly InterfaceRate[]): Html {
  const name = toShown(module.replaceAll('_', ' '));
  return html`<section><h3>${TITLES[module] ?? toSentence(name)}</h3>
${help === '' ? '' : html`<p class="soft">${toShown(help)}</p>`}
${createValueTables(families).map((table) => renderValueTable(withRates(table, rates), name))}
</section>
`;
}

/** Adds the rates to the table of the interfaces. */
function withRates(table: ValueTable, rates: readonly InterfaceRate[]): ValueTable {
  if (!table.columns.some(({ family }) => family === RECEIVED) || rates.length === 0) return table;
  const byName = new Map(rates.map((rate) => [toShown(rate.interface), rate]));
  const toRate = (bytes: number | null | undefined) =>
    bytes === null || bytes === undefined ? NOTHING : `${renderBytes(bytes)}/s`;
  for (const { title, cells } of table.rows) {
    cells.set('receive rate', toRate(byName.get(title)?.receiveBytesPerSecond));
    cells.set('transmit rate', toRate(byName.get(title)?.transmitBytesPerSecond));
  }
  const columns = [
    { key: 'receive rate', title: 'receive rate', help: 'Bytes received per second between the last two polls.' },
    { key: 'transmit rate', title: 'transmit rate', help: 'Bytes sent per second between the last two polls.' },
  ].map((column): ValueColumn => ({ ...column, family: RECEIVED }));
  return { ...table, columns: [...columns, ...table.columns] };
}

function renderValueTable({ rows, columns, rest, kind }: ValueTable, name: string): Html {
  if (rows.length <= LISTS_MAX) return html`${rows.map((row) => renderList(row, columns))}`;
  const cells: Column<ValueRow>[] = columns.map(({ key, title, help }) => ({
    title: toSentence(title),
    help,
    cell: ({ cells: all }) => html`<bdi>${all.get(key) ?? ''}</bdi>`,
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

/** The facts about one thing, each with its help as the title. */
function renderList({ title, cells, ageSeconds }: ValueRow, columns: readonly ValueColumn[]): Html {
  return html`${title === '' ? '' : html`<h4><bdi>${title}</bdi></h4>`}<dl class="facts">${columns.map(
    ({ key, title: name, help, family }) => {
      const cell = cells.get(key);
      if (cell === undefined || cell === '') return '';
      const shown = key === family ? toShown(help.replace(/(: 1 for .*)?\.$/, '')) : toSentence(name);
      return html`<dt title="${toShown(key === family ? family : help)}">${shown}</dt><dd><bdi>${cell}</bdi></dd>`;
    },
  )}<dt>Age of these values</dt><dd>${renderLength(ageSeconds)}</dd></dl>`;
}
