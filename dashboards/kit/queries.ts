import { DataqueryBuilder as LokiQuery } from '@grafana/grafana-foundation-sdk/loki';
import { DataqueryBuilder as PrometheusQuery, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus';

/** The data sources that the reader picks; a dashboard names no other. */
export const PROMETHEUS = { type: 'prometheus', uid: '${datasource}' } as const;
export const LOKI = { type: 'loki', uid: '${loki}' } as const;

/** What one query asks, and what its series are called in the legend. */
export interface Query {
  readonly expr: string;
  /** With `{{label}}` for values of labels. */
  readonly legend?: string;
}

/** `now`: one value per series; `over-time`: a line per series; `rows`: one row per series. */
export type QueryShape = 'now' | 'over-time' | 'rows';

/** A series selector with the matchers of a dashboard: `of('router_up', 'x="y"')`. */
export type Selector = (metric: string, ...matchers: readonly string[]) => string;

/** What {@link Selector} puts into every selector. */
export function selectBy(...common: readonly string[]): Selector {
  return (metric, ...matchers) => `${metric}{${[...common, ...matchers].join(', ')}}`;
}

/** Matches values of the labels that the reader picked. Routers without a site are found while all sites are picked. */
export const BY_JOB = 'job=~"$job"';
export const BY_SITE = 'site=~"$site"';
export const BY_ROUTER = 'router=~"$router"';
export const BY_INSTANCE = 'instance=~"$instance"';

/** Average over the time that is shown, at as many points as the panel has, however many series there are. */
export function averageShown(expr: string): string {
  return `avg_over_time((${expr})[$__range:$__interval])`;
}

/** Growth of a counter over the time that is shown, at as many points as the panel has. */
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

/** `A`, `B`, …: what Grafana calls the values of a query in a table. */
export function toRefId(index: number): string {
  return String.fromCharCode('A'.charCodeAt(0) + index);
}
