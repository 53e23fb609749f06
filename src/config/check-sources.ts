import { type ConfigFile, findNearest } from '../settings/index.ts';
import type { Settings } from './schema.ts';

/** Keys of a source with names, and the section that defines them. */
const NAMES = {
  groups: 'groups',
  allowed_groups: 'groups',
  allowed_credentials: 'credentials',
  allowed_tls_sets: 'tls_sets',
} as const;

/** Rejects names in sources that no section of the main file defines. */
export function checkSources(main: ConfigFile, settings: Settings): void {
  for (const [index, source] of (settings.router_sources ?? []).entries()) {
    for (const [key, section] of Object.entries(NAMES)) {
      const known = Object.keys(settings[section] ?? {});
      const names: unknown = Reflect.get(source, key);
      for (const [item, name] of (Array.isArray(names) ? names : []).entries()) {
        if (known.includes(String(name))) continue;
        const nearest = findNearest(String(name), known);
        main.faults.add(['router_sources', index, key, item], `There is no "${String(name)}" in "${section}"`, {
          nearest,
        });
      }
    }
  }
}
