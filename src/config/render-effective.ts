import { stringify } from 'yaml';
import { renderDuration } from '../base/index.ts';
import { renderSink } from '../delivery/index.ts';
import { renderByteSize, renderTls } from '../settings/index.ts';
import { renderDeadLetters, renderStorage } from '../store/index.ts';
import { renderWeb } from '../web/index.ts';
import { blankSecrets } from './blank-secrets.ts';
import type { Config, LogSettings, RouterSettings } from './config.ts';

/**
 * What runs, defaults applied, as YAML with the keys of the configuration file; without the routers, and with `[secret]` for
 * every secret. What came from a file is said in brackets.
 */
export function renderEffectiveConfig({ web, storage, backup, sinks, deadLetters, logRules, redact }: Config): string {
  return render({
    web: renderWeb(web),
    storage: renderStorage(storage),
    backup,
    sinks: sinks.map(renderSink),
    dead_letters: renderDeadLetters(deadLetters),
    log_rules: logRules.map(({ fixedLabels, ...rule }) => ({ ...rule, fixed_labels: fixedLabels })),
    redact,
  });
}

/** What runs of one router, in the same form: an item of `routers`. */
export function renderEffectiveRouter(router: RouterSettings): string {
  const { name, url, auth, username, password, timezone, labels, poll, logs, modules, byteBudget } = router;
  return render({
    name,
    url,
    auth,
    ...(auth !== 'none' && { username, password }),
    tls: url.startsWith('https:') ? renderTls(router.tls) : undefined,
    timezone,
    labels,
    poll: {
      interval: renderDuration(poll.intervalMs),
      timeout: renderDuration(poll.timeoutMs),
      connect_timeout: renderDuration(poll.connectTimeoutMs),
      deadline: renderDuration(poll.deadlineMs),
      stale_after: renderDuration(poll.staleAfterMs),
    },
    logs: {
      enabled: logs.enabled,
      interval: renderDuration(logs.intervalMs),
      start: renderStart(logs.start),
      components: logs.components,
    },
    modules: modules.map((module) => module.name),
    byte_budget: byteBudget === 0 ? 0 : renderByteSize(byteBudget),
  });
}

function render(keys: object): string {
  return stringify(blankSecrets(keys), { lineWidth: 0, aliasDuplicateObjects: false });
}

function renderStart(start: LogSettings['start']): string {
  return typeof start === 'string' ? start : renderDuration(start.backMs);
}
