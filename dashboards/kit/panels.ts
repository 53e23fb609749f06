import { PanelBuilder as BarGaugeBuilder } from '@grafana/grafana-foundation-sdk/bargauge';
import * as common from '@grafana/grafana-foundation-sdk/common';
import {
  type DashboardLinkBuilder,
  FieldColorBuilder,
  FieldColorModeId,
  type Panel,
  type ThresholdsConfigBuilder,
  type ValueMapping,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { PanelBuilder as LogsBuilder } from '@grafana/grafana-foundation-sdk/logs';
import { PanelBuilder as StatBuilder } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as StateTimelineBuilder } from '@grafana/grafana-foundation-sdk/statetimeline';
import { PanelBuilder as TimeSeriesBuilder } from '@grafana/grafana-foundation-sdk/timeseries';
import { type Limits, NEUTRAL, toThresholds } from './limits.ts';
import { LOKI, PROMETHEUS, type Query, type QueryShape, renderLokiQuery, renderPrometheusQuery } from './queries.ts';

/** Options of every panel. */
export interface PanelSpec {
  readonly title: string;
  /** Meaning of the panel, and advice. */
  readonly description: string;
  /** Width in columns of the grid, which has 24. */
  readonly width: number;
  /** Height in rows of the grid. The default depends on the type. */
  readonly height?: number;
}

/** Options of panels with values. */
export interface ValueSpec extends PanelSpec {
  readonly queries: readonly [Query, ...Query[]];
  /** One of the SDK's units. */
  readonly unit: string;
  /** Default: a number that is neither good nor bad. */
  readonly limits?: Limits;
  readonly decimals?: number;
  readonly min?: number;
  readonly max?: number;
  readonly mappings?: readonly ValueMapping[];
  /** Links of a value. */
  readonly links?: readonly DashboardLinkBuilder[];
  /** True to query Loki instead of Prometheus. */
  readonly isLoki?: boolean;
}

/** A panel with its size. Position and id are set when the dashboard is composed. */
export interface SizedPanel {
  readonly width: number;
  readonly height: number;
  readonly builder: { build(): Panel };
}

/** Methods that all builders of panels with values have. */
interface ValuePanelBuilder {
  title(title: string): unknown;
  description(description: string): unknown;
  datasource(datasource: common.DataSourceRef): unknown;
  withTarget(target: ReturnType<typeof renderPrometheusQuery> | ReturnType<typeof renderLokiQuery>): unknown;
  unit(unit: string): unknown;
  thresholds(thresholds: ThresholdsConfigBuilder): unknown;
  decimals(decimals: number): unknown;
  min(min: number): unknown;
  max(max: number): unknown;
  mappings(mappings: ValueMapping[]): unknown;
  dataLinks(links: DashboardLinkBuilder[]): unknown;
}

/** Number of points of a subquery that is reduced to one number. */
export const POINTS_OF_A_NUMBER = 100;

/** Applies the options of panels with values. */
function fill<B extends ValuePanelBuilder>(builder: B, spec: ValueSpec, shape: QueryShape): B {
  const { isLoki = false } = spec;
  builder.title(spec.title);
  builder.description(spec.description);
  builder.datasource(isLoki ? LOKI : PROMETHEUS);
  for (const [index, query] of spec.queries.entries()) {
    builder.withTarget(isLoki ? renderLokiQuery(query, index, shape) : renderPrometheusQuery(query, index, shape));
  }
  builder.unit(spec.unit);
  builder.thresholds(toThresholds(spec.limits ?? NEUTRAL));
  if (spec.decimals !== undefined) builder.decimals(spec.decimals);
  if (spec.min !== undefined) builder.min(spec.min);
  if (spec.max !== undefined) builder.max(spec.max);
  if (spec.mappings) builder.mappings([...spec.mappings]);
  if (spec.links) builder.dataLinks([...spec.links]);
  return builder;
}

const color = (mode: FieldColorModeId) => new FieldColorBuilder().mode(mode);
const lastOf = () => new common.ReduceDataOptionsBuilder().calcs(['lastNotNull']).values(false).fields('');

export interface StatSpec extends ValueSpec {
  /** True to show the legend instead of the value, for series whose labels are the information. */
  readonly isName?: boolean;
  readonly noValue?: string;
}

/** Creates a panel with one or a few numbers. */
export function stat(spec: StatSpec): SizedPanel {
  const builder = fill(new StatBuilder(), spec, 'now')
    .maxDataPoints(POINTS_OF_A_NUMBER)
    .noValue(spec.noValue ?? '–')
    .colorScheme(color(FieldColorModeId.Thresholds))
    .colorMode(common.BigValueColorMode.Value)
    .graphMode(common.BigValueGraphMode.None)
    .textMode(spec.isName ? common.BigValueTextMode.Name : common.BigValueTextMode.Auto)
    .reduceOptions(lastOf());
  return { width: spec.width, height: spec.height ?? 4, builder };
}

export interface TrendSpec extends ValueSpec {
  /** True to stack areas, for parts of a whole. */
  readonly isStacked?: boolean;
  /** True to draw the limits. */
  readonly showsLimits?: boolean;
}

/** Creates a panel with lines over time. */
export function trend(spec: TrendSpec): SizedPanel {
  const { isStacked = false, showsLimits = false } = spec;
  const builder = fill(new TimeSeriesBuilder(), spec, 'over-time')
    .colorScheme(color(FieldColorModeId.PaletteClassicByName))
    .fillOpacity(isStacked ? 30 : 8)
    .showPoints(common.VisibilityMode.Auto)
    .stacking(
      new common.StackingConfigBuilder().mode(isStacked ? common.StackingMode.Normal : common.StackingMode.None),
    )
    .thresholdsStyle(
      new common.GraphThresholdsStyleConfigBuilder().mode(
        showsLimits ? common.GraphThresholdsStyleMode.Dashed : common.GraphThresholdsStyleMode.Off,
      ),
    )
    .legend(
      new common.VizLegendOptionsBuilder()
        .displayMode(common.LegendDisplayMode.List)
        .placement(common.LegendPlacement.Bottom)
        .showLegend(true),
    )
    .tooltip(
      new common.VizTooltipOptionsBuilder()
        .mode(common.TooltipDisplayMode.Multi)
        // oxlint-disable-next-line unicorn/no-array-sort -- an order for Grafana, and no array.
        .sort(common.SortOrder.Descending)
        .hideZeros(isStacked),
    );
  return { width: spec.width, height: spec.height ?? 8, builder };
}

/** Creates a panel with a ranking as bars. */
export function ranking(spec: ValueSpec): SizedPanel {
  const builder = fill(new BarGaugeBuilder(), spec, 'now')
    .maxDataPoints(POINTS_OF_A_NUMBER)
    .noValue('None')
    .colorScheme(color(FieldColorModeId.Thresholds))
    .orientation(common.VizOrientation.Horizontal)
    .displayMode(common.BarGaugeDisplayMode.Basic)
    .valueMode(common.BarGaugeValueMode.Color)
    .namePlacement(common.BarGaugeNamePlacement.Left)
    .reduceOptions(lastOf());
  return { width: spec.width, height: spec.height ?? 8, builder };
}

/** Creates a panel with states over time as coloured bands. */
export function timeline(spec: ValueSpec): SizedPanel {
  const builder = fill(new StateTimelineBuilder(), spec, 'over-time')
    .colorScheme(color(FieldColorModeId.Thresholds))
    .showValue(common.VisibilityMode.Auto)
    .mergeValues(true)
    .rowHeight(0.8)
    .legend(
      new common.VizLegendOptionsBuilder()
        .displayMode(common.LegendDisplayMode.List)
        .placement(common.LegendPlacement.Bottom)
        .showLegend(false),
    );
  return { width: spec.width, height: spec.height ?? 6, builder };
}

/** Creates a panel with log lines, newest first. */
export function lines(spec: PanelSpec & { readonly expr: string }): SizedPanel {
  const builder = new LogsBuilder()
    .title(spec.title)
    .description(spec.description)
    .datasource(LOKI)
    .withTarget(renderLokiQuery({ expr: spec.expr }, 0, 'over-time').maxLines(1000))
    .showTime(true)
    .showLabels(false)
    .showCommonLabels(false)
    .wrapLogMessage(true)
    .prettifyLogMessage(false)
    .enableLogDetails(true)
    .sortOrder(common.LogsSortOrder.Descending)
    .dedupStrategy(common.LogsDedupStrategy.None);
  return { width: spec.width, height: spec.height ?? 14, builder };
}
