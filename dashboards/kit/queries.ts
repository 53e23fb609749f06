import { DataqueryBuilder as LokiQuery } from '@grafana/grafana-foundation-sdk/loki';
import { DataqueryBuilder as PrometheusQuery, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus';

/** Data sources, selected by the user with variables. */
export const PROMETHEUS = { type: 'prometheus', uid: '${datasource}' } as const;
export const LOKI = { type: 'loki', uid: '${loki}' } as const;

/** A query, and the names of its series in the legend. */
export interface Query {
  readonly expr: string;
  /** Name of a series, with `{{label}}` for values of labels. */
  readonly legend?: string;
}

/** `now`: one value per series; `over-time`: a line per series; `rows`: one row per series. */
export type QueryShape = 'now' | 'over-time' | 'rows';

/** A series selector with the matchers of a dashboard: `of('router_up', 'x="y"')`. */
export type Selector = (metric: string, ...matchers: readonly string[]) => string;

/** Creates a {@link Selector} that adds these matchers to every selector. */
export function selectBy(...common: readonly string[]): Selector {
  return (metric, ...matchers) => `${metric}{${[...common, ...matchers].join(', ')}}`;
}

/** Matches the selected label values. Routers without a site match while all sites are selected. */
export const BY_JOB = 'job=~"$job"';
export const BY_SITE = 'site=~"$site"';
export const BY_ROUTER = 'router=~"$router"';
export const BY_INSTANCE = 'instance=~"$instance"';
/** Matches gaps of missing lines, and not those that `logs.start` leaves out. */
export const LOST = 'reason!="skipped"';

/** Returns the average over the shown time range, sampled at the interval of the panel. */
export function averageShown(expr: string): string {
  return `avg_over_time((${expr})[$__range:$__interval])`;
}

/** Returns the growth of a counter over the shown time range, sampled at the interval of the panel. */
export function growthShown(selector: string): string {
  return `increase(${selector}[$__range:$__interval])`;
}

export function renderPrometheusQuery({ expr, legend }: Query, index: number, shape: QueryShape): PrometheusQuery {
  const query = new PrometheusQuery()
    .refId(toRefId(index))
    .datasource(PROMETHEUS)
    .expr(expr)
    .legendFormat(legend ?? '__auto')
    .format(shape === 'rows' ? PromQueryFormat.Table : PromQueryFormat.TimeSeries);
  return shape === 'over-time' ? query.range() : query.instant();
}

export function renderLokiQuery({ expr, legend }: Query, index: number, shape: QueryShape): LokiQuery {
  const query = new LokiQuery().refId(toRefId(index)).datasource(LOKI).expr(expr);
  if (legend !== undefined) query.legendFormat(legend);
  return query.queryType(shape === 'now' ? 'instant' : 'range');
}

/** Returns the id of a query in Grafana: `A`, `B`, … */
export function toRefId(index: number): string {
  return String.fromCharCode('A'.charCodeAt(0) + index);
}
