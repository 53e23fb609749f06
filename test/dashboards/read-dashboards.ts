import { readdirSync, readFileSync } from 'node:fs';

/** What the tests look at of a dashboard's JSON. */
export interface PanelJson {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly collapsed?: boolean;
  readonly panels?: readonly PanelJson[];
  readonly datasource?: { readonly type: string; readonly uid: string };
  readonly targets?: readonly TargetJson[];
  readonly fieldConfig?: {
    readonly defaults: { readonly unit?: string; readonly thresholds?: { readonly steps: readonly object[] } };
    readonly overrides: readonly OverrideJson[];
  };
  readonly transformations?: readonly {
    readonly id: string;
    readonly options: { readonly indexByName?: Record<string, number>; readonly renameByName?: Record<string, string> };
  }[];
}

interface OverrideJson {
  readonly matcher: { readonly id: string; readonly options: string };
  readonly properties: readonly { readonly id: string; readonly value: unknown }[];
}

interface TargetJson {
  readonly refId: string;
  readonly expr: string;
  readonly legendFormat?: string;
  readonly format?: string;
  readonly instant?: boolean;
  readonly datasource: { readonly type: string; readonly uid: string };
}

export interface DashboardJson {
  readonly uid: string;
  readonly title: string;
  readonly links: readonly { readonly url: string }[];
  readonly panels: readonly PanelJson[];
  readonly annotations: {
    readonly list: readonly {
      readonly name: string;
      readonly expr: string;
      readonly datasource: { readonly uid: string };
    }[];
  };
  readonly templating: {
    readonly list: readonly {
      readonly name: string;
      readonly type: string;
      readonly query: string;
      readonly description: string;
    }[];
  };
}

/** A query of a dashboard, and where it stands. */
export interface QueryOfDashboard {
  /** `fleet / Panel, query A`. */
  readonly where: string;
  readonly dashboard: string;
  readonly panel: string;
  readonly language: 'promql' | 'logql';
  readonly expr: string;
  readonly isRange: boolean;
  /** Labels that its legend, its columns or its links show. */
  readonly shownLabels: readonly string[];
}

const JSON_FOLDER = new URL('../../dashboards/json/', import.meta.url);

/** The committed dashboards by the name of their file. */
export function readDashboards(): ReadonlyMap<string, DashboardJson> {
  const names = readdirSync(JSON_FOLDER).filter((name) => name.endsWith('.json'));
  return new Map(
    names.map((name) => [
      name.replace('.json', ''),
      JSON.parse(readFileSync(new URL(name, JSON_FOLDER), 'utf8')) as DashboardJson,
    ]),
  );
}

/** All panels, those of closed rows included, without the rows themselves. */
export function listPanels(dashboard: DashboardJson): readonly PanelJson[] {
  return dashboard.panels.flatMap((panel) => (panel.type === 'row' ? (panel.panels ?? []) : [panel]));
}

/** Queries of panels, annotations and variables. */
export function listQueries(name: string, dashboard: DashboardJson): readonly QueryOfDashboard[] {
  const ofPanels = listPanels(dashboard).flatMap((panel) =>
    (panel.targets ?? []).map((target): QueryOfDashboard => {
      const language = target.datasource.type === 'loki' ? 'logql' : 'promql';
      return {
        where: `${name} / ${panel.title}, query ${target.refId}`,
        dashboard: name,
        panel: panel.title,
        language,
        expr: target.expr,
        isRange: !target.instant,
        shownLabels: matchesOf(target.legendFormat ?? '', /\{\{(\w+)\}\}/g),
      };
    }),
  );
  const ofAnnotations = dashboard.annotations.list.map(
    (annotation): QueryOfDashboard => ({
      where: `${name} / annotation ${annotation.name}`,
      dashboard: name,
      panel: `annotation ${annotation.name}`,
      language: 'promql',
      expr: annotation.expr,
      isRange: true,
      shownLabels: [],
    }),
  );
  const ofVariables = dashboard.templating.list.flatMap((variable): QueryOfDashboard[] => {
    const [, selector, label] = /^label_values\((.*), (\w+)\)$/.exec(variable.query) ?? [];
    if (variable.type !== 'query') return [];
    return [
      {
        where: `${name} / variable ${variable.name}`,
        dashboard: name,
        panel: `variable ${variable.name}`,
        language: 'promql',
        expr: `count by (${label}) (${selector})`,
        isRange: false,
        shownLabels: [label ?? ''],
      },
    ];
  });
  return [...ofPanels, ...ofAnnotations, ...ofVariables];
}

/** Labels that columns of a table show. */
export function listColumnLabels(panel: PanelJson): readonly string[] {
  const organize = panel.transformations?.find(({ id }) => id === 'organize');
  return Object.keys(organize?.options.indexByName ?? {}).filter((field) => !field.startsWith('Value'));
}

/** Names of variables that a text uses: `$name`, `${name}`, `${name:format}`; Grafana's own begin with two underlines. */
export function listVariables(text: string): readonly string[] {
  return matchesOf(text, /\$\{?(\w+)/g);
}

/**
 * The text with values for its variables, as Grafana would put them in. Throws for one that has none: Grafana would
 * leave it as it stands.
 */
export function replaceVariables(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\$\{(\w+)(?::\w+)?\}|\$(\w+)/g, (whole, braced?: string, plain?: string) => {
    const value = values[braced ?? plain ?? ''];
    if (value === undefined) throw new RangeError(`The variable ${whole} has no value`);
    return value;
  });
}

function matchesOf(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, match]) => match ?? '');
}
