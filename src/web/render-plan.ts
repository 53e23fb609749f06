import type { PlanSummary } from './api/configuration.ts';

/** Renders what a reload would change as text for people. */
export function renderPlan({ routers, sections, needsRestart }: PlanSummary): string {
  const { added, changed, removed, reconnected, total } = routers;
  const lines = [
    ...renderNames('added', added),
    ...(changed.count === 0 ? [] : [`routers changed: ${changed.count}`]),
    ...changed.routers.map(({ name, keys }) => `  ${name}: ${keys.join(', ')}`),
    ...renderMore(changed.count - changed.routers.length),
    ...renderNames('removed', removed),
    ...(reconnected === 0 ? [] : [`routers whose session begins anew: ${reconnected}`]),
    ...(sections.length === 0 ? [] : [`sections changed: ${sections.join(', ')}`]),
    ...(needsRestart.length === 0 ? [] : [`need a restart of the agent: ${needsRestart.join(', ')}`]),
  ];
  const begin =
    lines.length === 0 ? 'A reload would change nothing' : 'A reload would make these changes; none was made';
  return `${[`${begin} (routers: ${total}).`, ...lines].join('\n')}\n`;
}

function renderNames(what: string, { count, names }: PlanSummary['routers']['added']): readonly string[] {
  if (count === 0) return [];
  return [`routers ${what}: ${count}`, ...names.map((name) => `  ${name}`), ...renderMore(count - names.length)];
}

function renderMore(count: number): readonly string[] {
  return count > 0 ? [`  and ${count} more`] : [];
}
