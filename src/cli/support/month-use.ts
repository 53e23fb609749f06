import { MONTH_DAYS, MONTH_MS, renderBytes } from '../../base/index.ts';
import type { LoadedConfig, RouterSettings } from '../../config/index.ts';
import { createPollPlan } from '../../status/index.ts';

/** Bytes of 30 days. */
export interface MonthUse {
  readonly status: number;
  readonly logs: number;
}

/** A request of a poll on a kept connection, with TLS: "Bytes of a poll" in bench/RESULTS.md. */
const REQUEST_BYTES = 1000;
/** Resources of a typical poll, and requests of a typical reading of logs: the list, and a log that has changed. */
const REQUESTS = { status: 7, logs: 2 } as const;

/** Returns what 30 days cost if each poll and each reading of logs cost as much as in these steps. New lines come on top. */
export function estimateMonth(
  steps: readonly { readonly step: string; readonly verdict: string; readonly bytes?: number | undefined }[],
  { modules, poll, logs }: RouterSettings,
  hasSinks: boolean,
): MonthUse {
  const sum = (names: ReadonlySet<string>) =>
    steps.reduce(
      (all, { step, verdict, bytes = 0 }) => all + (names.has(step) && verdict !== 'skipped' ? bytes : 0),
      0,
    );
  const current = steps.find(({ step }) => step.startsWith('log ') && step !== 'log list')?.step ?? '';
  const status = createPollPlan(modules, poll.interval).targets.map(
    ({ name, intervalMs }) => (sum(new Set([`status ${name}`])) / intervalMs) * MONTH_MS,
  );
  return {
    status: Math.round(status.reduce((all, bytes) => all + bytes, 0)),
    logs: hasSinks ? Math.round((sum(new Set(['log list', current])) / logs.interval) * MONTH_MS) : 0,
  };
}

/** Renders the use of 30 days. */
export function renderMonthUse({ status, logs }: MonthUse): string {
  return `about ${renderBytes(status + logs)} a month (status ${renderBytes(status)}, logs ${renderBytes(logs)})`;
}

/** Adds warnings of routers whose data plan is smaller than what such intervals typically cost. */
export function warnOfPlans(loaded: LoadedConfig, file: string): LoadedConfig {
  if (!loaded.ok) return loaded;
  const { routers, sinks } = loaded.config;
  const routersOf = new Map<string, string[]>();
  for (const { name, poll, logs, byte_budget: budget, data_plans: plans } of routers) {
    const [smallest] = plans.toSorted((a, b) => a.limit - b.limit);
    const toMonth = (requests: number, intervalMs: number) => (requests * REQUEST_BYTES * MONTH_MS) / intervalMs;
    const use = {
      status: toMonth(REQUESTS.status, poll.interval),
      logs: sinks.length > 0 && logs.enabled ? toMonth(REQUESTS.logs, logs.interval) : 0,
    };
    const most = budget.perDay === 0 ? Infinity : budget.perDay * MONTH_DAYS;
    if (!smallest || Math.min(most, use.status + use.logs) <= smallest.limit) continue;
    const why = `polls and readings of logs at these intervals typically cost ${renderMonthUse(use)}, more than its data plan of ${renderBytes(smallest.limit)}; lengthen poll.interval and logs.interval, or set byte_budget`;
    routersOf.set(why, [...(routersOf.get(why) ?? []), name]);
  }
  const warnings = [...routersOf].map(([why, names]) => {
    const more = names.length > 1 ? ` and ${names.length - 1} more` : '';
    return { file, line: 1, column: 1, keyPath: '', message: `${names[0]}${more}: ${why}` };
  });
  return { ...loaded, warnings: [...(loaded.warnings ?? []), ...warnings] };
}
