import { FACET_NAMES, FACETS, type Facet, type FacetCounts, withoutFacet } from './facets.ts';
import { type Html, html, toShown } from './html.ts';
import { renderCount } from './quantities.ts';
import { renderTableQuery, type TableQuery } from './table-query.ts';
import { FACET_CHARS_MAX, FILTERS, renderFacetValue } from './words.ts';

/** Values that a list offers: the most frequent ones. Any other can be written into the address. */
const OPTIONS_MAX = 50;
const SORTS = {
  state: 'Worst first',
  name: 'Name',
  since: 'Longest in their state',
  signal: 'Weakest signal',
  '-lag': 'Longest log lag',
  '-bytes': 'Most bytes today',
  uptime: 'Shortest uptime',
  firmware: 'Firmware',
} as const;

/** Renders search, filters and order of the fleet as one form that works without scripts, and the filters in use. */
export function renderFilters(query: TableQuery, facets: FacetCounts): Html {
  const { search, sort, isDescending, filter } = query;
  const order = sort === undefined ? 'state' : `${isDescending ? '-' : ''}${sort}`;
  return html`<form role="search" method="get" class="filters">
<label for="q" class="unseen">Search in names, addresses, labels, values and errors</label>
<input type="search" id="q" name="q" value="${search}" maxlength="200" autocomplete="off" placeholder="Name, address, label, operator, error">
<button>Search</button>
<details id="filters"><summary>Filters</summary><div class="panel">
<label>State <select name="state" aria-label="State"><option value="">any</option>${Object.entries(FILTERS).map(
    ([key, { title }]) => html`<option value="${key}"${key === filter ? html` selected` : ''}>${title}</option>`,
  )}</select></label>
${FACETS.map((facet) => renderSelects(facet, query, facets))}
<label>Order <select name="sort" aria-label="Order">${Object.entries(SORTS).map(([key, title]) => renderOption(key, title, key === order))}${
    order in SORTS ? '' : renderOption(order, `Column “${order.replace('-', '')}”`, true)
  }</select></label>
<button>Apply</button></div></details>
${renderChips(query)}
</form>`;
}

/** A list for each facet; for labels, one for each name that has few values. */
function renderSelects(facet: Facet, query: TableQuery, facets: FacetCounts): Html | readonly Html[] {
  const wanted = query.facets[facet] ?? [];
  if (facet !== 'label') return renderSelect(facet, FACET_NAMES[facet], [...facets[facet]], wanted);
  const byName = Map.groupBy(facets.label, ([text]) => text.slice(0, text.indexOf('=')));
  return [...byName]
    .filter(([name, values]) => values.length <= OPTIONS_MAX || wanted.some((value) => value.startsWith(`${name}=`)))
    .slice(0, OPTIONS_MAX)
    .map(([name, values]) => renderSelect(facet, name, values, wanted));
}

function renderSelect(
  facet: Facet,
  title: string,
  counts: readonly (readonly [string, { readonly total: number }])[],
  wanted: readonly string[],
): Html {
  const shown = counts.toSorted(([, a], [, b]) => b.total - a.total).slice(0, OPTIONS_MAX);
  const known = new Set(shown.map(([value]) => value));
  const isOwn = (value: string) => facet !== 'label' || value.startsWith(`${title}=`);
  const others = wanted.filter((value) => !known.has(value) && isOwn(value));
  return html`<label><bdi>${toShown(title, FACET_CHARS_MAX)}</bdi> <select name="${facet}" aria-label="${toShown(title, FACET_CHARS_MAX)}"><option value="">any</option>${others.map(
    (value) => renderOption(value, renderFacetValue(facet, value), true),
  )}${shown.map(([value, { total }]) =>
    renderOption(value, `${renderFacetValue(facet, value)} (${renderCount(total)})`, wanted.includes(value)),
  )}</select></label>
`;
}

function renderOption(value: string, title: string, isSelected: boolean): Html {
  return html`<option value="${value}"${isSelected ? html` selected` : ''}>${title}</option>`;
}

/** The filters in use, each whole and with a link that removes it: lists and groups cut long values. */
function renderChips(query: TableQuery): Html | string {
  const { search, filter, facets } = query;
  const wanted = FACETS.flatMap((facet) => (facets[facet] ?? []).map((value) => ({ facet, value })));
  if (search === '' && filter === undefined && wanted.length === 0) return '';
  return html`<ul class="chips" aria-label="Filters in use">${
    filter === undefined
      ? ''
      : renderChip(FILTERS[filter]?.title ?? filter, renderTableQuery(query, { filter: undefined }))
  }${wanted.map(({ facet, value }) =>
    renderChip(
      facet === 'label'
        ? toShown(value)
        : `${FACET_NAMES[facet]} ${facet === 'step' ? renderFacetValue(facet, value) : toShown(value)}`,
      renderTableQuery(query, { facets: withoutFacet(facets, facet, value) }),
    ),
  )}<li><a id="clear" href="${renderTableQuery(query, { search: '', filter: undefined, facets: {} })}">Show all</a></li></ul>`;
}

function renderChip(title: string, href: string): Html {
  return html`<li><a href="${href}"><bdi title="${title}">${title}</bdi><span class="unseen">: remove this filter</span> <span aria-hidden="true">✕</span></a></li>`;
}
