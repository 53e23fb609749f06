import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';

/** Data sources that a person chooses at the import, by the variable that holds them. */
const INPUTS = {
  datasource: { name: 'DS_PROMETHEUS', label: 'Prometheus', pluginId: 'prometheus' },
  loki: { name: 'DS_LOKI', label: 'Loki', pluginId: 'loki' },
} as const;

/** Returns a dashboard as grafana.com wants it: with `__inputs` that set its data sources at the import, and `__requires`. */
export function toGrafanaCom(dashboard: Dashboard): object {
  const used = Object.entries(INPUTS).filter(([variable]) =>
    dashboard.templating?.list?.some(({ name }) => name === variable),
  );
  const list = dashboard.templating?.list?.map((variable) => {
    const input = used.find(([name]) => name === variable.name)?.[1];
    return input ? { ...variable, current: { text: `\${${input.name}}`, value: `\${${input.name}}` } } : variable;
  });
  return {
    __inputs: used.map(([, input]) => ({ ...input, description: '', type: 'datasource', pluginName: input.label })),
    __requires: [
      { type: 'grafana', id: 'grafana', name: 'Grafana', version: '12.0.0' },
      ...used.map(([, { pluginId: id, label: name }]) => ({ type: 'datasource', id, name, version: '1.0.0' })),
    ],
    id: null,
    ...dashboard,
    templating: { ...dashboard.templating, list },
  };
}
