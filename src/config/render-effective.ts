import { stringify } from 'yaml';
import { Secret } from '../base/index.ts';
import { renderSink } from '../delivery/index.ts';
import { renderLogRule, renderLogs } from '../logs/index.ts';
import { renderConnections } from '../router/index.ts';
import { renderSchedule } from '../schedule/index.ts';
import { renderByteBudget, renderTls } from '../settings/index.ts';
import { renderPoll } from '../status/index.ts';
import { renderDeadLetters, renderStorage } from '../store/index.ts';
import { renderWeb } from '../web/index.ts';
import type { Config, RouterSettings } from './config.ts';

/**
 * Renders the running configuration as YAML with the keys of the configuration file, defaults applied, routers left out, and
 * `[secret]` for every secret. Content that came from a file is summarised in brackets.
 */
export function renderEffectiveConfig({
  web,
  storage,
  schedule,
  connections,
  backup,
  sinks,
  deadLetters,
  logRules,
  redact,
}: Config): string {
  return render({
    web: renderWeb(web),
    storage: renderStorage(storage),
    schedule: renderSchedule(schedule),
    connections: renderConnections(connections),
    backup,
    sinks: sinks.map(renderSink),
    dead_letters: renderDeadLetters(deadLetters),
    log_rules: logRules.map(renderLogRule),
    redact,
  });
}

/** Renders the running configuration of one router in the same form, as an item of `routers`. */
export function renderEffectiveRouter(router: RouterSettings): string {
  const { name, url, auth, username, password, timezone, labels, poll, logs, modules } = router;
  return render({
    name,
    url,
    auth,
    ...(auth !== 'none' && { username, password }),
    tls: url.startsWith('https:') ? renderTls(router.tls) : undefined,
    timezone,
    labels,
    poll: renderPoll(poll),
    logs: renderLogs(logs),
    modules: modules.map((module) => module.name),
    byte_budget: renderByteBudget({ perDay: router.byteBudget, statusShare: router.byteBudgetStatusShare }),
  });
}

function render(keys: object): string {
  return stringify(blankSecrets(keys), { lineWidth: 0, aliasDuplicateObjects: false });
}

/** Copies a value with `[secret]` for secrets, and without what is `undefined`. */
function blankSecrets(value: unknown): unknown {
  if (value instanceof Secret) return value.toString();
  if (Array.isArray(value)) return value.map(blankSecrets);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(entries.map(([key, item]) => [key, blankSecrets(item)]));
}
