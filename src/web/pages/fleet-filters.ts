import { renderCount } from '../../base/index.ts';
import type { RouterSummary } from '../api/routers.ts';
import { FACET_NAMES, FACETS, type Facet, type FacetCounts, withoutFacet } from './facets.ts';
import { type Html, html, toShown } from './html.ts';
import { renderTableQuery, type TableQuery } from './table-query.ts';

const HOUR_S = 3600;
/** As the alert. Milliseconds. */
const EXPIRY_MS = 30 * 86_400_000;

/** Returns true if a router that is up has restarted within the last hour. */
export function isRebooted({ state, device: { uptimeSeconds } }: RouterSummary): boolean {
  return state === 'up' && uptimeSeconds !== null && uptimeSeconds < HOUR_S;
}

function isExpiring({ certificateExpiry }: RouterSummary, nowMs: number): boolean {
  return certificateExpiry !== null && Date.parse(certificateExpiry) - nowMs < EXPIRY_MS;
}

/** The filters of the fleet, in display order. */
export const FILTERS: Readonly<
  Record<
    string,
    {
      readonly title: string;
      readonly fits: (router: RouterSummary, nowMs: number) => boolean;
      /** True if it is shown only when it matches a router. */
      readonly isRare?: boolean;
      /** The filter before it that usually includes its routers. */
      readonly partOf?: 'down';
    }
  >
> = {
  up: { title: 'up', fits: ({ state, fault }) => state === 'up' && fault === null },
  part: { title: 'degraded', fits: ({ state, fault }) => state === 'up' && fault !== null },
  down: { title: 'down', fits: ({ state }) => state === 'down' },
  stale: { title: 'stale', fits: ({ isStale }) => isStale, partOf: 'down' },
  refused: {
    title: 'login refused',
    fits: ({ failure }) => failure?.step === 'auth' && failure.reason === 'auth',
    partOf: 'down',
  },
  budget: { title: 'out of budget', fits: ({ state }) => state === 'budget' },
  unknown: { title: 'not polled yet', fits: ({ state }) => state === 'unknown' },
  loss: { title: 'may lose log lines', fits: ({ logLossSince }) => logLossSince !== null, isRare: true },
  gaps: { title: 'with log gaps', fits: ({ gaps }) => gaps > 0, isRare: true },
  certificate: { title: 'with a certificate that expires soon', fits: isExpiring, isRare: true },
  drift: { title: 'with a changed configuration', fits: ({ device }) => device.drift !== null, isRare: true },
  rebooted: { title: 'restarted within the last hour', fits: isRebooted, isRare: true },
  slow: { title: 'slow', fits: ({ isSlow }) => isSlow, isRare: true },
  maintenance: { title: 'in maintenance', fits: ({ lifecycle }) => lifecycle.state === 'maintenance', isRare: true },
  paused: { title: 'paused', fits: ({ state }) => state === 'paused', isRare: true },
  retired: { title: 'retired', fits: ({ state }) => state === 'retired', isRare: true },
};

/** Names and values of facets in lists. Characters. */
export const FACET_CHARS_MAX = 60;

/** Renders a value of a facet; of a label, the part after its name. */
export function renderFacetValue(facet: Facet, value: string): string {
  return toShown(facet === 'label' ? value.slice(value.indexOf('=') + 1) : value, FACET_CHARS_MAX);
}

/** The most frequent values; others can be typed into the URL. */
const OPTIONS_MAX = 50;
const SORTS = {
  state: 'Worst first',
  name: 'Name',
  site: 'Site',
  since: 'Longest in their state',
  signal: 'Weakest signal',
  '-lag': 'Longest log lag',
  '-bytes': 'Most bytes today',
  uptime: 'Shortest uptime',
  firmware: 'Firmware',
} as const;

/** Renders search, filters and order of the fleet as one form that works without scripts, and the active filters. */
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

/** One list per facet; for labels, one per label name with few values. */
function renderSelects(facet: Facet, query: TableQuery, facets: FacetCounts): Html | readonly Html[] {
  const wanted = query.facets[facet] ?? [];
  // The list of sites stands for that of the label.
  if (facet !== 'label') return renderSelect(facet, FACET_NAMES[facet], [...facets[facet]], wanted);
  const byName = Map.groupBy(facets.label, ([text]) => text.slice(0, text.indexOf('=')));
  return [...byName]
    .filter(
      ([name, values]) =>
        wanted.some((value) => value.startsWith(`${name}=`)) || (values.length <= OPTIONS_MAX && name !== 'site'),
    )
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

/** The active filters in full, each with a link that removes it: lists and groups truncate long values. */
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
