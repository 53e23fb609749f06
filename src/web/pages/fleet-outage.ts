import { FACET_NAMES, type FacetQuery, withFacet } from './facets.ts';
import { type Html, html, toShown } from './html.ts';
import type { Outage, OutageGroup, OutageValue } from './outage.ts';
import { renderClock, renderCount, renderMany } from './quantities.ts';
import { renderTableQuery, type TableQuery } from './table-query.ts';
import { STEP_NAMES } from './words.ts';

const TEXT_CHARS_MAX = 60;

/** Renders a mass outage: one sentence, then counts by step, labels, firmware and so on, each a filter. */
export function renderOutage(outage: Outage | undefined, query: TableQuery): Html | string {
  if (!outage) return '';
  const { down, total, since, step, common, groups } = outage;
  const parts = [
    html`<strong>${renderCount(down)} of ${renderMany(total, 'router')} down${since === null ? '' : html` since ${renderClock(since)}`}</strong>`,
    ...(step === null ? [] : [html`, most at ${nameValue('step', step)}`]),
    ...(common === null ? [] : [html`, most of ${nameProperty(common)} ${nameValue(common.facet, common.value)}`]),
  ];
  return html`<section class="notice" aria-label="Outage"><p>${parts}.</p>
<div class="groups" tabindex="0" role="group" aria-label="Routers down by property"><dl>${groups.map((group) => renderGroup(group, query))}</dl></div></section>`;
}

function renderGroup({ name, values, rest }: OutageGroup, query: TableQuery): Html {
  return html`<div><dt title="${toShown(name)}">${toShown(name, TEXT_CHARS_MAX)}</dt>${values.map(
    ({ facet, value, down, total }) => {
      const facets: FacetQuery = withFacet({}, facet, value);
      const href = renderTableQuery({ ...query, search: '', facets }, { filter: 'down' });
      const of = facet === 'step' ? '' : ` of ${renderCount(total)}`;
      return html`<dd><a href="${href}"><bdi title="${toShown(value)}">${nameValue(facet, value)}</bdi></a> ${renderCount(down)}${of}</dd>`;
    },
  )}${rest > 0 ? html`<dd class="soft">and ${renderCount(rest)} more</dd>` : ''}</div>`;
}

function nameProperty({ facet, value }: OutageValue): string {
  return facet === 'label'
    ? toShown(value.slice(0, value.indexOf('=')), TEXT_CHARS_MAX)
    : FACET_NAMES[facet].toLowerCase();
}

function nameValue(facet: OutageValue['facet'], value: string): string {
  if (facet === 'step') return STEP_NAMES[value as keyof typeof STEP_NAMES] ?? '';
  return toShown(facet === 'label' ? value.slice(value.indexOf('=') + 1) : value, TEXT_CHARS_MAX);
}
