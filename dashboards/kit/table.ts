import { TableCellDisplayMode, TableSortByFieldStateBuilder } from '@grafana/grafana-foundation-sdk/common';
import type { DashboardLinkBuilder, DynamicConfigValue, ValueMapping } from '@grafana/grafana-foundation-sdk/dashboard';
import { PanelBuilder as TableBuilder } from '@grafana/grafana-foundation-sdk/table';
import { NoUnit } from '@grafana/grafana-foundation-sdk/units';
import { type Limits, NEUTRAL, toThresholds } from './limits.ts';
import { type PanelSpec, POINTS_OF_A_NUMBER, type SizedPanel } from './panels.ts';
import { PROMETHEUS, renderPrometheusQuery, toRefId } from './queries.ts';

interface AnyColumn {
  readonly title: string;
  readonly links?: readonly DashboardLinkBuilder[];
  readonly width?: number;
}

/** A column with the values of a label. */
interface LabelColumn extends AnyColumn {
  readonly label: string;
}

/** A column with the values of a query. Rows of several queries are joined by the labels that all of them have. */
interface ValueColumn extends AnyColumn {
  readonly expr: string;
  readonly unit: string;
  readonly limits?: Limits;
  readonly decimals?: number;
  readonly mappings?: readonly ValueMapping[];
}

export interface TableSpec extends PanelSpec {
  /** Columns from left to right. */
  readonly columns: readonly (LabelColumn | ValueColumn)[];
  /** Queries that only contribute labels. */
  readonly labelQueries?: readonly string[];
  /** Labels that rows are joined by but that are not shown. */
  readonly hidden?: readonly string[];
  /** Title of the column that rows are sorted by. */
  readonly sortBy: string;
  readonly isDescending?: boolean;
}

/** Creates a table with columns of several queries. */
export function table(spec: TableSpec): SizedPanel {
  const { columns, labelQueries = [], hidden = [] } = spec;
  const exprs = [...columns.flatMap((column) => ('expr' in column ? [column.expr] : [])), ...labelQueries];
  const toField = (column: LabelColumn | ValueColumn) =>
    'label' in column ? column.label : toValueField(exprs.indexOf(column.expr), exprs.length);
  const fields = columns.map(toField);
  const builder = new TableBuilder()
    .title(spec.title)
    .description(spec.description)
    .datasource(PROMETHEUS)
    .maxDataPoints(POINTS_OF_A_NUMBER)
    .unit(NoUnit)
    .thresholds(toThresholds(NEUTRAL))
    .filterable(true)
    .showHeader(true)
    .sortBy([new TableSortByFieldStateBuilder().displayName(spec.sortBy).desc(spec.isDescending ?? true)])
    .withTransformation({ id: 'merge', options: {} })
    .withTransformation({
      id: 'organize',
      options: {
        excludeByName: Object.fromEntries(
          ['Time', ...hidden, ...labelQueries.map((expr) => toValueField(exprs.indexOf(expr), exprs.length))].map(
            (name) => [name, true],
          ),
        ),
        indexByName: Object.fromEntries(fields.map((field, index) => [field, index])),
        renameByName: Object.fromEntries(columns.map((column, index) => [fields[index], column.title])),
      },
    });
  for (const [index, expr] of exprs.entries()) builder.withTarget(renderPrometheusQuery({ expr }, index, 'rows'));
  for (const column of columns) {
    const properties = toProperties(column);
    if (properties.length > 0) builder.overrideByName(column.title, properties);
  }
  return { width: spec.width, height: spec.height ?? 10, builder };
}

function toValueField(index: number, count: number): string {
  return count === 1 ? 'Value' : `Value #${toRefId(index)}`;
}

function toProperties(column: LabelColumn | ValueColumn): DynamicConfigValue[] {
  const { links, width } = column;
  const properties: DynamicConfigValue[] = [];
  const set = (id: string, value: unknown) => void properties.push({ id, value });
  if (links)
    set(
      'links',
      links.map((link) => link.build()),
    );
  if (width !== undefined) set('custom.width', width);
  if (!('expr' in column)) return properties;
  set('unit', column.unit);
  if (column.decimals !== undefined) set('decimals', column.decimals);
  if (column.mappings) set('mappings', column.mappings);
  if (column.limits) set('thresholds', toThresholds(column.limits).build());
  if (column.limits || column.mappings) set('custom.cellOptions', { type: TableCellDisplayMode.ColorText });
  return properties;
}
