import { FACET_NAMES, type FacetQuery, withFacet } from './facets.ts';
import { type Html, html, toShown } from './html.ts';
import type { Majority, Outage, OutageGroup, OutageValue } from './outage.ts';
import { renderAtLeast, renderCount, renderMany, renderSince } from './quantities.ts';
import { renderTableQuery, type TableQuery } from './table-query.ts';
import { FACET_CHARS_MAX, renderFacetValue } from './words.ts';

/**
 * Renders a mass outage: one sentence, then counts by step, labels, firmware and so on, each a filter. It is about all
 * routers; `isFiltered`: the rest of the page is not.
 */
export function renderOutage(
  outage: Outage | undefined,
  query: TableQuery,
  isFiltered: boolean,
  nowMs: number,
): Html | string {
  if (!outage) return '';
  const { down, total, common, since, step, groups } = outage;
  const inCommon = common ?? { down, total };
  const of =
    common === null ? '' : html` of ${nameProperty(common)} <bdi>${renderFacetValue(common.facet, common.value)}</bdi>`;
  const others = down - inCommon.down;
  const parts = [
    html`<strong>${renderCount(inCommon.down)} of ${renderMany(inCommon.total, 'router')}${of} down`,
    renderMajority(step, ' at ', ({ value }) => renderFacetValue('step', value)),
    since?.isKnown === false
      ? renderMajority(since, ' ', ({ value }) => renderAtLeast(value, nowMs))
      : renderMajority(since, ' since ', ({ value }) => renderSince(value, nowMs)),
    html`</strong>${others === 0 ? '' : `; ${renderCount(others)} more ${others === 1 ? 'router' : 'routers'} down`}`,
  ];
  return html`<section class="notice" aria-label="Outage"><p>${isFiltered ? 'Whole fleet: ' : ''}${parts}.</p>
<div class="groups" tabindex="0" role="group" aria-label="Routers down by property"><dl>${groups.map((group) => renderGroup(group, query))}</dl></div></section>`;
}

function renderMajority(
  majority: Majority | null,
  word: string,
  render: (majority: Majority) => Html | string,
): Html | string {
  return majority === null ? '' : html`${majority.isAll ? '' : ', most'}${word}${render(majority)}`;
}

function renderGroup({ name, values, rest }: OutageGroup, query: TableQuery): Html {
  return html`<div><dt title="${toShown(name)}">${toShown(name, FACET_CHARS_MAX)}</dt>${values.map(
    ({ facet, value, down, total }) => {
      const facets: FacetQuery = withFacet({}, facet, value);
      const href = renderTableQuery({ ...query, search: '', facets }, { filter: 'down' });
      const of = facet === 'step' ? '' : ` of ${renderCount(total)}`;
      return html`<dd><a href="${href}"><bdi title="${toShown(value)}">${renderFacetValue(facet, value)}</bdi></a> ${renderCount(down)}${of}</dd>`;
    },
  )}${rest > 0 ? html`<dd class="soft">and ${renderCount(rest)} more</dd>` : ''}</div>`;
}

function nameProperty({ facet, value }: OutageValue): string {
  return facet === 'label'
    ? toShown(value.slice(0, value.indexOf('=')), FACET_CHARS_MAX)
    : FACET_NAMES[facet].toLowerCase();
}
