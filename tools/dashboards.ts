/** Writes dashboards/json/ and dashboards/grafana-com/. `npm run dashboards` runs it, and a test compares the result. */
import { writeFileSync } from 'node:fs';
import { createDashboards, toGrafanaCom } from '../dashboards/index.ts';

for (const [name, dashboard] of Object.entries(createDashboards())) {
  for (const [folder, content] of [
    ['json', dashboard],
    ['grafana-com', toGrafanaCom(dashboard)],
  ] as const) {
    const file = new URL(`../dashboards/${folder}/${name}.json`, import.meta.url);
    writeFileSync(file, `${JSON.stringify(content, undefined, 2)}\n`);
  }
}
