/** Writes the generated pages of docs/. `npm run docs` runs it, and tests compare the result. */

import { writeFileSync } from 'node:fs';
import { SHIPPED_RULES } from '../src/logs/index.ts';
import { renderFault } from '../src/settings/index.ts';
import { loadShippedModules, SHIPPED_MODULES_FOLDER } from '../src/status/index.ts';
import { renderConfigReference } from './config-reference.ts';
import { renderMetricsReference } from './metrics-reference.ts';
import { renderVersions } from './versions.ts';

const shipped = await loadShippedModules(SHIPPED_MODULES_FOLDER);
if (!shipped.ok) throw new SyntaxError(shipped.faults.map(renderFault).join('\n'));
writeFileSync(new URL('../docs/config.md', import.meta.url), renderConfigReference());
writeFileSync(new URL('../docs/metrics.md', import.meta.url), renderMetricsReference(shipped.modules, SHIPPED_RULES));
writeFileSync(new URL('../docs/versions.md', import.meta.url), renderVersions());
