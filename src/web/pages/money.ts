import { renderBytes, renderMany } from '../../base/index.ts';
import { NO_USE, type RouterSummary, type UseSummary } from '../api/routers.ts';
import { type Html, html, NOTHING } from './html.ts';

/** Traffic of several routers, such as those of a site. Unknown values of one router do not count. */
export interface FleetUse extends UseSummary {
  /** Routers that are forecast to exceed their data plans. */
  readonly over: number;
}

/** The sum of no routers. */
export const NO_FLEET_USE: FleetUse = { ...NO_USE, over: 0 };

/** Adds the traffic of one more router. */
export function addUse(sum: FleetUse, { use }: Pick<RouterSummary, 'use'>): FleetUse {
  const add = (key: Exclude<keyof UseSummary, 'agent'>) => (use[key] === null ? sum[key] : (sum[key] ?? 0) + use[key]);
  return {
    agent: sum.agent + use.agent,
    agentForecast: add('agentForecast'),
    used: add('used'),
    limit: add('limit'),
    forecast: add('forecast'),
    over: sum.over + (isOverPlan(use) ? 1 : 0),
  };
}

/** True if the data plans will not suffice. */
export function isOverPlan({ limit, forecast }: UseSummary): boolean {
  return limit !== null && forecast !== null && forecast > limit;
}

/** Renders the use of all data plans, and apart from it the agent's own traffic, in one line. */
export function renderMoney(use: FleetUse): Html {
  const { agent, agentForecast, over } = use;
  const more = over === 0 ? '' : html`; <strong class="warn">${renderMany(over, 'router')} over plan</strong> by then`;
  const plans =
    use.limit === null
      ? ''
      : html`Data plans: ${renderUsed(use)} used${renderForecast(use, ' at the end of the period')}${more}. `;
  const month = agentForecast === null ? '' : `, about ${renderBytes(agentForecast)} in 30 days`;
  return html`<p class="money">${plans}The agent itself: ${renderBytes(agent)} this month${month}.</p>`;
}

/** Renders the traffic of one router as value and note of a tile. */
export function describeUse({ use }: Pick<RouterSummary, 'use'>): readonly [value: Html | string, note: Html | string] {
  if (use.limit === null) return [renderBytes(use.agent), 'by the agent this month'];
  const used = use.used === null ? NOTHING : renderBytes(use.used);
  return [used, html`of ${renderBytes(use.limit)}${renderForecast(use, ' forecast')}; agent ${renderBytes(use.agent)}`];
}

/** Renders the traffic of the routers of a site as one value, and what it is as its title. */
export function renderSiteUse(use: UseSummary): Html {
  if (use.limit === null)
    return html`<span class="soft" title="This month, by the agent">${renderBytes(use.agent)}</span>`;
  const forecast = use.forecast === null ? '' : `, ${renderBytes(use.forecast)} forecast`;
  return html`<span class="${isOverPlan(use) ? 'warn' : 'soft'}" title="Data plans${forecast}">${renderUsed(use)}</span>`;
}

function renderUsed({ used, limit }: UseSummary): string {
  return `${used === null ? NOTHING : renderBytes(used)} of ${renderBytes(limit ?? 0)}`;
}

function renderForecast(use: UseSummary, words: string): Html | string {
  if (use.forecast === null) return '';
  return html`, ${isOverPlan(use) ? html`<strong class="warn">${renderBytes(use.forecast)}</strong>` : renderBytes(use.forecast)}${words}`;
}
