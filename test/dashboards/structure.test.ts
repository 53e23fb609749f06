import { readFileSync } from 'node:fs';
import { VariableType } from '@grafana/grafana-foundation-sdk/dashboard';
import { PanelBuilder as StatBuilder } from '@grafana/grafana-foundation-sdk/stat';
import * as units from '@grafana/grafana-foundation-sdk/units';
import { expect, test } from 'vitest';
import { createDashboards, toGrafanaCom } from '../../dashboards/index.ts';
import { type DashboardJson, listColumnLabels, listPanels, type PanelJson, readDashboards } from './read-dashboards.ts';

const dashboards = [...readDashboards()];
const UNITS: ReadonlySet<unknown> = new Set(Object.values(units));
/** Types without values, and so without units and thresholds. */
const WITHOUT_VALUES = ['logs'];

const listAll = (dashboard: DashboardJson) => dashboard.panels.flatMap((panel) => [panel, ...(panel.panels ?? [])]);

/** Every address that a dashboard links to, in its head and in its values. */
function listLinks(dashboard: DashboardJson): readonly string[] {
  return [...JSON.stringify(dashboard).matchAll(/"url":"([^"]*)"/g)].map(([, url]) => url ?? '');
}

/** What is wrong with the places of panels. */
function findMisplaced(panels: readonly PanelJson[]): readonly string[] {
  const outside = panels
    .filter(({ gridPos: { x, y, w, h } }) => x < 0 || y < 0 || w < 1 || h < 1 || x + w > 24)
    .map(({ title }) => `${title} is outside`);
  const overlapping = panels.flatMap(({ gridPos: a, title }, index) =>
    panels
      .slice(index + 1)
      .filter(({ gridPos: b }) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h)
      .map((other) => `${title} lies over ${other.title}`),
  );
  return [...outside, ...overlapping];
}

test('dashboards/json/ is what `npm run dashboards` makes of the code, key by key', () => {
  const made = Object.entries(createDashboards());
  expect(dashboards.map(([name]) => name).toSorted()).toEqual(made.map(([name]) => name).toSorted());
  const committed = new Map(dashboards);
  for (const [name, dashboard] of made) {
    expect(JSON.stringify(committed.get(name), undefined, 1)).toBe(JSON.stringify(dashboard, undefined, 1));
  }
});

test('dashboards/grafana-com/ has the same with inputs for the data sources that each one has as variables', () => {
  for (const [name, dashboard] of Object.entries(createDashboards())) {
    const text = readFileSync(new URL(`../../dashboards/grafana-com/${name}.json`, import.meta.url), 'utf8');
    expect(JSON.stringify(JSON.parse(text))).toBe(JSON.stringify(toGrafanaCom(dashboard)));
    const { __inputs: inputs } = JSON.parse(text) as { __inputs: { name: string }[] };
    const variables = (dashboard.templating?.list ?? []).filter(({ type }) => type === VariableType.Datasource);
    expect(inputs).toHaveLength(variables.length);
    for (const input of inputs) expect(text).toContain(`"value": "\${${input.name}}"`);
    // Nothing else differs: a dashboard of a user has both or neither.
    expect(text).toContain(`"uid": "${dashboard.uid}"`);
  }
});

test('two runs make the same, and no dashboard is changed by the making of another', () => {
  expect(JSON.stringify(createDashboards())).toBe(JSON.stringify(createDashboards()));
});

test.for(dashboards)(
  '%s has panels with numbers of their own, within the grid and not over each other',
  ([, dashboard]) => {
    const all = listAll(dashboard);
    expect(all.length).toBeGreaterThan(12);
    const ids = all.map(({ id }) => id);
    expect(ids.every((id) => Number.isInteger(id) && id > 0)).toBe(true);
    expect(new Set(ids).size).toBe(ids.length);
    expect(findMisplaced(all)).toEqual([]);
    // Grafana throws panels of an open row away, and shows those of a closed one nowhere else.
    for (const { type, collapsed, panels = [] } of dashboard.panels) {
      expect(panels.length > 0).toBe(type === 'row' && collapsed === true);
    }
  },
);

test.for(dashboards)(
  'every panel of %s has a description, a unit that Grafana knows, and thresholds',
  ([, dashboard]) => {
    for (const { title, type, description, fieldConfig } of listPanels(dashboard)) {
      expect({ title, length: (description ?? '').length }).toEqual({
        title,
        length: expect.toSatisfy((n: number) => n > 20),
      });
      if (WITHOUT_VALUES.includes(type)) continue;
      const { unit, thresholds } = fieldConfig?.defaults ?? {};
      expect({ title, isKnown: UNITS.has(unit ?? '') }).toEqual({ title, isKnown: true });
      expect({ title, steps: thresholds?.steps.length ?? 0 }).not.toEqual({ title, steps: 0 });
      const ofColumns = (fieldConfig?.overrides ?? []).flatMap(({ properties }) =>
        properties.filter(({ id }) => id === 'unit').map(({ value }) => value),
      );
      for (const value of ofColumns) expect(UNITS).toContain(value);
    }
  },
);

test.for(dashboards)(
  '%s describes itself, its variables and its time, and titles of a dashboard are different',
  ([, dashboard]) => {
    for (const { description } of dashboard.templating.list) expect(description.length).toBeGreaterThan(20);
    const titles = listPanels(dashboard).map(({ title, description }) => `${title}: ${description}`);
    expect(new Set(titles).size).toBe(titles.length);
  },
);

test.for(dashboards)('%s names no data source but those that its reader picks', ([, dashboard]) => {
  const uids = [...JSON.stringify(dashboard).matchAll(/"datasource":\{"type":"(\w+)","uid":"([^"]*)"\}/g)];
  expect(uids.length).toBeGreaterThan(20);
  const all = JSON.stringify(dashboard).match(/"datasource":/g)?.length;
  expect(uids).toHaveLength(all ?? 0);
  for (const [, type, uid] of uids) expect(uid).toBe(type === 'loki' ? '${loki}' : '${datasource}');
  for (const panel of listPanels(dashboard)) {
    for (const { datasource } of panel.targets ?? []) expect(datasource).toEqual(panel.datasource);
  }
});

test.for(dashboards)('%s links only to dashboards that there are, and to variables that they have', ([, dashboard]) => {
  const byUid = new Map(dashboards.map(([, { uid, templating }]) => [uid, templating.list.map(({ name }) => name)]));
  expect(byUid.size).toBe(dashboards.length);
  const links = listLinks(dashboard);
  expect(links.length).toBeGreaterThanOrEqual(dashboards.length - 1);
  for (const link of links) {
    const [, uid = '', query = ''] = /^\/d\/([^?]+)\??(.*)$/.exec(link) ?? [];
    expect([...byUid.keys()]).toContain(uid);
    for (const [, name] of query.matchAll(/var-(\w+)=/g)) expect(byUid.get(uid)).toContain(name);
    for (const [, name] of query.matchAll(/\$\{(\w+):queryparam\}/g)) expect(byUid.get(uid)).toContain(name);
    if (query) expect(query).toMatch(/\$\{datasource:queryparam\}.*\$\{__url_time_range\}$/);
  }
});

test('a reader gets from the fleet to a router, from there to its logs, with the data sources and the time', () => {
  const linksOf = (name: string) => listLinks(new Map(dashboards).get(name) as DashboardJson);
  expect(linksOf('fleet')).toContainEqual(
    expect.stringMatching(/^\/d\/router-exporter-router\?var-router=\$\{__data\.fields\.router:percentencode\}&/),
  );
  expect(linksOf('router')).toContainEqual(
    expect.stringMatching(/^\/d\/router-exporter-logs\?var-component=.*\$\{loki:queryparam\}.*\$\{router:queryparam\}/),
  );
  for (const [, { links }] of dashboards) {
    for (const link of links) expect(link).toMatchObject({ includeVars: true, keepTime: true });
    // Else the link hides in a menu.
    expect(JSON.stringify(links)).not.toContain('placement');
  }
});

test.for(dashboards)('columns of tables of %s that are linked or shown are there', ([, dashboard]) => {
  for (const panel of listPanels(dashboard).filter(({ type }) => type === 'table')) {
    const labels = listColumnLabels(panel);
    expect(labels.length).toBeGreaterThan(0);
    const organize = panel.transformations?.find(({ id }) => id === 'organize');
    const titles = Object.values(organize?.options.renameByName ?? {});
    expect(new Set(titles).size).toBe(titles.length);
    for (const { matcher } of panel.fieldConfig?.overrides ?? []) expect(titles).toContain(matcher.options);
    for (const [, field] of JSON.stringify(panel.fieldConfig).matchAll(/__data\.fields\.(\w+)/g)) {
      expect(labels).toContain(field);
    }
  }
});

test('the SDK says what a panel may have, and what it does not know does not compile', () => {
  const panel = new StatBuilder();
  // @ts-expect-error: there is no such mode.
  panel.colorMode('loud');
  // @ts-expect-error: there is no such option.
  expect(panel.colourMode).toBeUndefined();
  // @ts-expect-error: bars are another type's.
  expect(panel.stacking).toBeUndefined();
});

test('findMisplaced() finds panels that overlap and that leave the grid', () => {
  const panel = (title: string, x: number, y: number, w: number, h: number): PanelJson => ({
    id: 1,
    type: 'stat',
    title,
    gridPos: { x, y, w, h },
  });
  expect(findMisplaced([panel('a', 0, 0, 12, 4), panel('b', 12, 0, 12, 4), panel('c', 0, 4, 24, 4)])).toEqual([]);
  expect(findMisplaced([panel('a', 0, 0, 12, 4), panel('b', 11, 3, 12, 4)])).toEqual(['a lies over b']);
  expect(findMisplaced([panel('a', 16, 0, 12, 4)])).toEqual(['a is outside']);
});
