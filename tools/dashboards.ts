/** Writes dashboards/json/. `npm run dashboards` runs it, and a test compares the result. */
import { writeFileSync } from 'node:fs';
import { createDashboards } from '../dashboards/index.ts';

for (const [name, dashboard] of Object.entries(createDashboards())) {
  const file = new URL(`../dashboards/json/${name}.json`, import.meta.url);
  writeFileSync(file, `${JSON.stringify(dashboard, undefined, 2)}\n`);
}
