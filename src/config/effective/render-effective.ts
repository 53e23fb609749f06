import { stringify } from 'yaml';
import { renderDuration } from '../../base/index.ts';
import { renderSink } from '../../delivery/index.ts';
import type { ListenAddress } from '../../settings/index.ts';
import { renderByteSize } from '../../settings/index.ts';
import type { Config, LogSettings, RouterSettings, WebSecurity } from '../config.ts';
import { blankSecrets } from './blank-secrets.ts';
import { toTlsKeys } from './tls-keys-of.ts';

/**
 * What runs, defaults applied, as YAML with the keys of the configuration file; without the routers, and with `[secret]` for
 * every secret. What came from a file is said in brackets.
 */
export function renderEffectiveConfig({ web, storage, backup, sinks, deadLetters, logRules, redact }: Config): string {
  return render({
    web: { listen: web.listen.map(renderAddress), config_file: web.security && toWebKeys(web.security) },
    storage: { path: storage.path, spool_max: renderByteSize(storage.spoolBytesMax) },
    backup,
    sinks: sinks.map(renderSink),
    dead_letters: { max: renderByteSize(deadLetters.bytesMax), keep: renderDuration(deadLetters.keepMs) },
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
    tls: url.startsWith('https:') ? toTlsKeys(router.tls) : undefined,
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

function renderAddress({ host = '', port }: ListenAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** What stands in the file of the server, by its keys. */
function toWebKeys({ tls, headers, users }: WebSecurity): object {
  return {
    tls_server_config: tls && {
      cert_file: '[certificate]',
      key_file: tls.keyPem,
      client_auth_type: tls.clientAuth,
      client_ca_file: tls.clientCaPem && '[certificates]',
      client_allowed_sans: tls.clientAllowedSans,
      min_version: tls.minVersion,
      max_version: tls.maxVersion,
      cipher_suites: tls.cipherSuites,
    },
    http_server_config: { headers },
    basic_auth_users: Object.fromEntries([...users.keys()].map((user) => [user, '[secret]'])),
  };
}
