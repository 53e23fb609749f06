import { Steps } from '../base/index.ts';
import { type Config, listChangedKeys } from '../config/index.ts';
import { areSameSettings } from '../settings/index.ts';
import type { PlanSummary } from '../web/index.ts';
import type { Plan } from './plan.ts';
import { listRestartKeys } from './restart-keys.ts';

/** Routers that are listed of each kind: of a fleet of 10,000, all may change. */
const LISTED_MAX = 100;

/** Sections besides those of the routers. */
const SECTIONS: readonly (keyof Config)[] = [
  ...(['web', 'storage', 'cluster', 'schedule', 'connections', 'router_sources', 'backup'] as const),
  ...(['sinks', 'dead_letters', 'log_rules', 'redact'] as const),
];

/** Describes what a plan would change about the running configuration, without values. */
export async function summarizePlan(before: Config, plan: Plan): Promise<PlanSummary> {
  const { config } = plan;
  const { added, changed, removed, reconnected } = await plan.compare();
  const steps = new Steps();
  const routers: { name: string; keys: readonly string[] }[] = [];
  for (const router of changed.slice(0, LISTED_MAX)) {
    routers.push({ name: router.after.name, keys: listChangedKeys(router.before, router.after) });
    if (steps.isDue) await steps.next();
  }
  return {
    routers: {
      total: config.routers.length,
      added: { count: added.length, names: added.slice(0, LISTED_MAX) },
      changed: { count: changed.length, routers },
      removed: { count: removed.length, names: removed.slice(0, LISTED_MAX) },
      reconnected,
    },
    sections: SECTIONS.filter((key) => !areSameSettings(before[key], config[key])),
    needsRestart: listRestartKeys(before, config),
  };
}
