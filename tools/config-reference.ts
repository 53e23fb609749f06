import { ROUTER_FILES_BYTES_MAX, ROUTER_FILES_MAX } from '../src/config/load-config.ts';
import { SETS_MAX } from '../src/config/router-schema.ts';
import { configSchema } from '../src/config/schema.ts';
import { SOURCES_MAX } from '../src/inventory/index.ts';
import { LOG_RULES_MAX, REDACT_MAX } from '../src/logs/index.ts';
import { CONFIG_FILE_BYTES_MAX, METRIC_LABELS_MAX, YAML_ITEMS_MAX } from '../src/settings/index.ts';
import { SINKS_MAX } from '../src/sinks/index.ts';
import { MODULE_RESOURCES_MAX, MODULES_MAX, RESOURCE_METRICS_MAX } from '../src/status/index.ts';
import { BCRYPT_COST_MAX, webFileSchema } from '../src/web/index.ts';
import { renderTables } from './reference-tables.ts';

const MIB = 1024 ** 2;

const INTRODUCTION = `# Configuration

<!-- Written by \`npm run docs\` from the schema in src/config. Do not edit. -->

\`router-exporter.yaml\`, or the file that \`--config.file\` names, is YAML. [router-exporter.example.yaml](router-exporter.example.yaml) is a first one,
\`router-exporter check\` reports all errors with file, line and column, and \`router-exporter schema\` prints a JSON Schema for editors.

- Unknown keys are errors.
- Durations need a unit: \`30s\`, \`5m\`, \`1h30m\`. So do sizes: \`512KiB\`, \`20MiB\`, \`1GiB\`.
- \`\${NAME}\` and \`\${NAME:-default}\` are replaced from the environment in every text value; \`$\${\` stands for \`\${\`.
- An IPv4 address is four decimals from 0 to 255 without leading zeros. Other forms that a resolver would take for one (\`10.20.30\`, \`0x7f.1\`, \`192.168.001.010\`) are refused, with the address that they would mean, and so are zones of IPv6 (\`fe80::1%eth0\`).
- Relative paths start at the folder of the file that contains them.
- Secrets are never printed. Each is a text, a file or the output of a program: [Secrets](#secrets).
- The agent reads files that the configuration refers to at the start and at a reload. A reload is all or nothing: with any error, the running configuration stays in force.

## Keys
`;

const SECRETS = `
<a id="secrets"></a>

## Secrets

A secret, such as \`password\`, is the text itself, preferably from the environment, or says where it is read:

\`\`\`yaml
defaults: { username: monitor, password: "\${ROUTER_PASSWORD}" }
routers:
  - { name: plant-7, url: "https://192.0.2.10", password: { file: plant-7.pw } }
  # The same, in short.
  - { name: plant-8, url: "https://192.0.2.11", password_file: plant-8.pw }
  # The output of a program.
  - { name: plant-9, url: "https://192.0.2.12", password: { command: [pass, show, plant-9] } }
\`\`\`

- Every key of the type secret has the short form, with \`_file\` behind its name; one of the two is written. Each header of \`headers\` is a secret, too, and \`header_files\` is its short form.
- A secret of a nearer layer replaces that of the layers below as a whole, whatever their forms.
- A file has at most 4096 bytes; one trailing line end is ignored. \`check\` warns of a file that every user of the machine may read, unless it is below \`\${CREDENTIALS_DIRECTORY}\`, the folder of the credentials that systemd passes (\`LoadCredential=\`): \`password_file: \${CREDENTIALS_DIRECTORY}/NAME\`.
- A program is run without a shell in the folder of the file, 10 s at most; what it leaves running is ended, unless it is a daemon with a session of its own. Of the agent's environment it gets \`PATH\`, \`HOME\`, \`USER\`, \`LOGNAME\`, \`SHELL\`, \`LANG\`, \`LC_ALL\`, \`LC_CTYPE\`, \`TZ\`, \`TMPDIR\`, \`XDG_RUNTIME_DIR\` and \`CREDENTIALS_DIRECTORY\`, and what else it needs is set with \`env\`: \`[env, VAULT_ADDR=https://vault.example, vault, read, …]\`.
- \`command\` is for the main file only. [Sources of routers](#sources-of-routers) name no secrets at all.
- A secret is read again, without a reload, within seconds after its file has changed, and when a router or sink refuses it: a request with a changed secret is then sent once more. A command runs at the start, at a reload (also a trial), with \`check\` and every other command that reads the configuration, and after a refusal, then at most every 10 s. What cannot be read leaves the secret as it was, with a warning.
`;

const GROUPS = `
<a id="groups-and-named-sets"></a>

## Groups and named sets

A group is a named set of keys of a router, such as a site, a model or a carrier. A router lists its groups in \`groups\`.

\`\`\`yaml
groups:
  munich: { labels: { site: munich }, timezone: Europe/Berlin, credentials: plants }
  metered: { poll: { interval: 5m }, logs: { interval: 15m } }
credentials:
  plants: { username: monitor, password_file: plants.pw }
tls_sets:
  own_ca: { ca_file: ca.pem }
routers:
  - { name: plant-7, url: "https://192.0.2.10", groups: [munich, metered], tls_set: own_ca }
\`\`\`

- The layers of a router are \`defaults\`, then its groups in their order, then the router itself. A later layer takes precedence, key by key: of \`labels\`, \`tls\`, \`poll\`, \`logs\` and \`metrics\` single keys, of everything else, such as \`modules\`, \`headers\` and \`proxy\`, the whole value. An empty label removes that of the layers below.
- \`credentials\` of a layer replaces \`username\`, the password, \`auth\`, the token and \`headers\` of the layers below together, and \`tls_set\` replaces \`tls\`. Layers above may still set single keys.
- Groups have no groups. \`defaults\`, groups and named sets are in the main file; routers in \`router_files\` may name them.
- \`router-exporter check --show plant-7\` prints the settings of a router after merging, each with the file and line that it comes from, without secrets.
- A change of a group or set restarts the sessions of routers whose settings it changes, and of no others.
- At most ${SETS_MAX} groups, credentials and TLS sets each.
`;

const WAY = `
<a id="tokens-headers-and-proxies"></a>

## Tokens, headers and proxies

Some devices, and gateways in front of routers, take a token instead of a login; some routers are behind a proxy.

\`\`\`yaml
credentials:
  gateway: { auth: bearer, bearer_token_file: gateway.token, headers: { X-Tenant: plants } }
  other: { auth: none, header_files: { Authorization: other.header } }
groups:
  remote:
    credentials: gateway
    source_address: 192.0.2.5
    proxy: { url: "http://proxy.example.com:3128", username: agent, password_file: proxy.pw }
\`\`\`

- \`auth: bearer\` sends \`Authorization: Bearer TOKEN\` with every request, and never logs in. Other forms of the header: \`headers\` with \`auth: none\`.
- \`headers\` are sent with every request to the router, logins included, and to no other host: redirects are not followed, and a proxy does not see them (except of a router with \`http://\`). Their values are secrets. They are allowed only in the main file.
- What a router quotes of its password, token or headers in its answers is \`[secret]\` in metrics, pages, names of backups and the agent's log, if it has six characters or more. A secret of letters and underscores alone is left in names of fields.
- \`proxy\` with \`http\` or \`https\` asks the proxy to connect (\`CONNECT\`); the proxy must allow the port of the router. \`socks5\` is what \`ssh -D\` opens, among others. The certificate of the router is checked as without a proxy. The proxy resolves the name of the router. The variables \`HTTP_PROXY\` and \`HTTPS_PROXY\` are ignored: they are for [sinks and sources](sinks.md#proxies) alone.
- \`proxy\` replaces that of the layers below with its account; \`proxy: none\` is a direct connection.
- \`source_address\` is an address of this machine, for hosts with several networks. Of names, only addresses of the same family are tried.
- \`poll.connect_timeout\` covers the connection to the proxy and that from there to the router.
- A source of routers can set none of this, but may name groups and credentials that do.
`;

const FILES_OF_ROUTERS = `
<a id="files-of-routers"></a>

## Files of routers

Each file in \`router_files\` is a list of routers, with the same keys as [\`routers\`](#routers), as YAML or JSON. The \`defaults\` of the main file apply to them.

\`\`\`yaml
- name: plant-8
  url: https://192.0.2.11
  labels: { site: hamburg }
\`\`\`

- An entry of \`router_files\` is a path or a glob (\`*\`, \`?\`, \`[a-z]\`, \`{a,b}\`). A missing file is an error, and so is a folder that does not exist or cannot be listed; a glob that matches no file is a warning. Stars do not match folders and hidden files, and \`**\` is rejected.
- The name of a router must be unique across all files. Two routers with the same URL, proxy and source address are a warning.
- The agent checks the files every few seconds. After a file was changed, added or removed, and is stable, it reloads the configuration. It also detects replacement by renaming, or by moving a link as Kubernetes does.
- An empty file is an error, because it is probably still being written. For no routers, write \`[]\`.
- At most ${ROUTER_FILES_MAX} files, ${CONFIG_FILE_BYTES_MAX / MIB} MiB each, ${ROUTER_FILES_BYTES_MAX / MIB} MiB together; at most ${YAML_ITEMS_MAX.toLocaleString('en')} items of lists (\`- \`) and a million values in one file, the main one included.
`;

const ROUTER_SOURCES = `
<a id="sources-of-routers"></a>

## Sources of routers

A source in \`router_sources\` is a list of routers from elsewhere, read every \`interval\`: over HTTP (\`http\`), from files (\`file_sd\`), or from a NetBox (\`netbox\`). Changes are applied as those of files: unchanged routers keep their session.

\`\`\`yaml
groups:
  plants: { credentials: plants, tls_set: own_ca }
credentials: { plants: { username: monitor, password_file: plants.pw } }
tls_sets: { own_ca: { ca_file: ca.pem } }
router_sources:
  - name: inventory
    type: http
    url: https://inventory.example.net/routers
    bearer_token_file: inventory.token
    groups: [plants]
    allowed_addresses: [10.20.0.0/16, "*.routers.example.net"]
  - name: netbox
    type: netbox
    url: https://netbox.example.net
    token_file: netbox.token
    query: role=router
    groups: [plants]
    labels: { site: site.slug, tenant: tenant.slug }
    allowed_addresses: [10.30.0.0/16]
\`\`\`

A list is JSON (\`file_sd\`: also YAML). Its items are routers, or groups of targets in the format of the [HTTP service discovery](https://prometheus.io/docs/prometheus/latest/http_sd/) of Prometheus:

\`\`\`json
[
  { "name": "plant-7", "url": "https://10.20.0.7", "labels": { "site": "munich" } },
  { "targets": ["10.20.0.8:8443"], "labels": { "__router_name__": "plant-8", "site": "hamburg" } }
]
\`\`\`

- Keys of a router: \`name\`, \`url\`, \`groups\`, \`credentials\`, \`tls_set\`, \`labels\`, \`timezone\`, \`modules\`, \`state\`, \`state_until\`. Of a target: the labels \`__router_name__\` (default: its address), \`__scheme__\` (default \`https\`), \`__router_groups__\` (names with commas), \`__router_credentials__\`, \`__router_tls_set__\`, \`__router_timezone__\`, \`__router_state__\`, \`__router_state_until__\`; other labels that begin with \`__\` are ignored, the rest are labels of the router. A target is a host with or without a port, never a URL.
- A source is not trusted. It cannot name files, commands, secrets or variables of the environment (\`\${NAME}\` is not replaced), nor change the check of certificates or how often a router is asked. It may name the groups, credentials and TLS sets that \`allowed_groups\`, \`allowed_credentials\` and \`allowed_tls_sets\` list.
- The password of a router goes to its address, so addresses must be in \`allowed_addresses\`; without the key no address is allowed, none of its routers is used, and \`check\` warns.
  - A network (\`10.20.0.0/16\`) allows URLs with an address; a network of IPv6 allows no IPv4 address, in no form.
  - A glob (\`*.routers.example.net\`) allows URLs with a name; a star stands within one part of a name, with two parts or more behind it. Names are resolved as usual: allow only domains whose DNS you trust.
  - URLs need https, unless \`allow_http\` is set.
- A router that breaks a rule is left out; the others are used. \`router_exporter_source_refused_routers\` counts them, and the log and \`router-exporter check\` say why. A name that the configuration has itself, or an earlier source, stays there.
- A source that fails changes nothing. Its last good list is in \`inventory/\` below \`storage.path\` and is used after a restart, also under another name of the source. \`check\`, \`doctor\` and the commands for routers read it from there: give them the same \`--storage.path\` as the agent.
- A list that lacks more than \`removal_max\` (20%) of the routers of the source, or all of them, is not used; neither is one with which the source would have lost so many since its largest list of the last 24 hours. One router may always go.
  - The list before stays, an error is logged, and \`router_exporter_source_held_removals\` is not 0. Routers that it pauses or retires, itself or by a group that it names, count as lacking.
  - To confirm it: \`curl -X POST 'http://localhost:9847/-/reload?accept_removals=inventory'\` (with \`--web.enable-lifecycle\`), or set \`removal_max: 100%\` and reload.
- Requests follow no redirects and are conditional (\`ETag\`, \`Last-Modified\`); a list has at most ${CONFIG_FILE_BYTES_MAX / MIB} MiB, \`routers_max\` (5000) routers, a million values and, as YAML, 400 characters for each of them, and \`timeout\` (30s) to arrive. Its routers need at most ${CONFIG_FILE_BYTES_MAX / MIB} MiB as well: labels of a group of targets count once for each target.
- \`netbox\` reads \`/api/dcim/devices/\` page by page. Each page has \`timeout\` to arrive, and all together ten times as long.
  - Used are \`name\` (other characters than letters, digits, \`.\`, \`_\` and \`-\` become \`-\`), the address in \`primary_ip\`, and the fields in \`labels\` and \`group_fields\`; of relations and choices the \`slug\` or \`value\`. Devices without a name or address are ignored.
  - The \`status\` of a device becomes a [state](operations.md#maintenance-pauses-and-retired-routers) by \`states\`: \`offline\` and \`planned\` are \`paused\`, \`staged\` and \`failed\` are in \`maintenance\`, \`inventory\` and \`decommissioning\` are \`retired\`, \`active\` and others name no state, so that one that was set by request counts. \`states\` replaces this map; \`states: {}\` ignores the status.
  - Do not filter by status in \`query\` then: a device that the filter leaves out is removed.
- In \`http\` and \`file_sd\`, the state is in \`state\` or the label \`__router_state__\`.
- At most ${SOURCES_MAX} sources.
`;

const MODULES = `
<a id="modules"></a>

## Modules

A module defines which resources of a router are read, how often, and which metrics they produce. Shipped modules and your own have the same format and pass the same checks.

\`\`\`yaml
modules:
  # A module of your own: list it in the modules of routers.
  fuel_level:
    min_interval: 5m
    resources:
      - path: adio*
        optional: true
        labels: { slot: $slot }
        metrics:
          - { name: router_fuel_level_volts, help: Voltage of the fuel gauge., type: gauge, value: analog_input_1, unit: V }
  # Another interval for a shipped module.
  modem: { interval: 15s }
\`\`\`

- A file in \`module_files\` is such a map, without the key \`modules\`. Globs are as in [files of routers](#files-of-routers). The agent does not watch these files; it reads them at a reload.
- A module with the name of a shipped one replaces it, also in the default set. With only \`interval\` or \`min_interval\`, it changes the interval of the shipped one.
- \`modules\` of a router, or of \`defaults\`, lists names. \`default\` stands for all shipped modules of the default set, \`"!modem"\` excludes one, regardless of the order. Your own modules must be listed.
- Metric names: letters, digits and \`_\`. A counter ends in \`_total\`, an info metric in \`_info\`. Other names must not end in \`_total\`, \`_info\`, \`_bucket\`, \`_count\`, \`_sum\` or \`_created\`, and no name may begin with \`router_exporter_\`, \`process_\`, \`nodejs_\`, \`go_\` or \`scrape_\`, be \`up\`, or equal a metric of the agent.
- A metric name has the same type and help in all modules.
- Label names must not begin with \`__\` or be \`router\`, \`le\` or \`quantile\`. The \`labels\` of a router must not be labels of its modules.
- At most ${MODULES_MAX} modules with the shipped ones, ${MODULE_RESOURCES_MAX} resources per module, ${RESOURCE_METRICS_MAX} metrics per resource, ${METRIC_LABELS_MAX} labels.
`;

const FIRMWARE_VERSIONS = `
<a id="firmware-versions"></a>

## Firmware versions

A file in \`firmware_version_files\` lists the firmware versions that there are, as you know them; the agent fetches no list.

\`\`\`yaml
versions:
  - { version: "9.5", date: 2025-11-03 }
  - { version: "9.6", date: 2026-01-31, notes: "Fixes the restart of the modem.", severity: warning }
\`\`\`

- \`version\` is required, in quotes: without them, \`9.10\` is the number 9.1. Numbers between dots are compared one by one, so 9.10 comes after 9.9; what follows them, as in \`9.5-rc1\`, does not count.
- \`date\` and \`notes\` are texts for people: \`router_exporter_firmware_version_info\` has them as labels.
- \`severity\` is \`info\` (the default), \`warning\` or \`critical\`: how urgent an update to the version is. [\`RouterFirmwareBehind\`](runbooks/configuration.md#routerfirmwarebehind) fires with the highest one of the versions that are newer than that of the router.
- At most 10 files with 100 versions each. They are read at the start and at a reload, without new sessions. With a fault in a file, a reload changes nothing.
`;

const LOG_RULES = `
<a id="log-rules-and-redaction"></a>

## Log rules and redaction

A log rule turns log lines into a metric: it searches the message of every line of some components for a pattern. Patterns in \`redact\` are removed from messages first, so that they reach neither records nor metrics.

A pattern runs only on lines that contain a text common to all of its matches, such as \`DHCPACK on\`; hundreds of such patterns cost little. A pattern without such a text, such as \`\\d{4}\` or that of a MAC address, runs on every line: \`router-exporter check\` names these, and those for whose texts no room is left (8,000 characters in all), with their cost on this machine.

\`\`\`yaml
log_rules:
  # The shipped rules. Without this item they are disabled.
  - default
  # Counts lines: leases per interface.
  - name: router_dhcp_acks_total
    help: Times that the DHCP server gave out an address.
    type: counter
    components: [network]
    pattern: 'DHCPACK on .* via (?P<interface>\\w+)'
    labels: [interface]
  # The last value in a line.
  - name: router_ntp_adjustment_seconds
    help: By how much the clock was last set right.
    type: gauge
    pattern: 'clock adjusted by (?P<seconds>[-+.\\d]+) s'
    value: seconds
redact:
  # As text: replaced with [redacted].
  - '\\b[0-9a-f]{2}(:[0-9a-f]{2}){5}\\b'
  - { pattern: 'password=\\S+', replacement: 'password=***' }
\`\`\`

- Patterns have [RE2](https://github.com/google/re2/wiki/Syntax) syntax, without look-ahead, look-behind and backreferences, so no pattern can block the program. \`(?i)\` at the start ignores case, \`^\` and \`$\` are the ends of the message. Put them in single quotes. Environment variables are replaced, so write \`$\${\` for \`\${\`.
- A pattern has at most 1000 characters, and limited nesting of repetitions such as \`{200}\`.
- Every series of a rule has the labels \`router\`, \`component\` and those of the router. These must not be labels of a rule.
- A metric has at most 100 series per router; further ones are combined into one with the label values \`other\`. Values that are not numbers, or would decrease a counter, are ignored.
- Metric names follow the rules of [modules](#modules). Several rules can share a name if type, help and labels are equal; they then count together. Names of module metrics and of the agent's metrics are not allowed.
- The shipped rules are heuristics, because the routers' messages are not documented. They count logins (\`router_log_logins_total\`, by \`result\`), changes of the WAN chain (\`router_log_wan_changes_total\`) and of modems (\`router_log_modem_changes_total\`, by \`state\`), tunnels that came up or went down (\`router_log_vpn_changes_total\`, by \`state\`), and starts (\`router_log_reboots_total\`). To replace them, omit \`default\` and write your own.
- \`logs fetch\` removes the same text from what it prints.
- A pattern in \`redact\` must not match the empty text. If a message has too many matches, its whole rest is replaced.
- At most ${LOG_RULES_MAX} log rules and ${REDACT_MAX} patterns in \`redact\`.
`;

const SINKS = `
<a id="sinks-and-dead-letters"></a>

## Sinks and dead letters

A sink is a destination of log records. Each sink has its own cursor in the spool: a sink that is down does not delay others, and catches up later.

\`\`\`yaml
sinks:
  - name: loki
    type: loki
    url: https://loki.example.net
    tenant: plants
    username: agent
    password_file: loki.pw
  # Warnings and worse, and gaps.
  - name: archive
    type: file
    path: logs/warnings.jsonl
    severities: [warning, error, critical, alert, emergency, none]
    components: ["*", "!kernel"]
    events: [line, log.gap, log.gap_end]
  - name: search
    type: elasticsearch
    url: https://search.example.net:9200
    headers: { X-Team: plants }
    batch: { records: 2000 }
dead_letters: { max: 16MiB, keep: 7d }
\`\`\`

- The keys of a sink depend on its type. A key of another type is an error that names that type.
- A sink gets a record if router, component, severity and event each match one of its globs, and none that begins with \`!\`. [Events of routers](log-records.md#events-of-routers) have no component, and \`events\` has to name them.
- Use exactly one authentication method: \`username\` with \`password\`, a \`bearer_token\`, or, for types with these keys, \`api_key\` or \`credentials_file\`. Without one, requests are unauthenticated.
- Header values are secrets. \`Content-Type\` and other headers of the connection or the body cannot be set.
- A \`url\` must not contain credentials, and a query only for \`http\`. VictoriaLogs, for example, accepts headers (\`VL-Stream-Fields\`) instead of a query.
- \`tls\` is an error if the address does not use TLS, because it would have no effect.
- \`0\` needs no unit.
- Names and files of sinks must be unique. At most ${SINKS_MAX} sinks.
`;

const WEB = `
<a id="web-configuration-file"></a>

## The web configuration file

The file of \`web.config_file\` or \`--web.config.file\` has the format of the Prometheus exporters
([exporter-toolkit](https://github.com/prometheus/exporter-toolkit/blob/master/docs/web-configuration.md)), so several exporters can share a file. Differences:

- It is read at the start, at a reload, and within seconds after it or a file that it names has changed, which reloads the whole configuration. Environment variables are not replaced.
- \`rate_limit\` needs a \`burst\` of at least 1, and does not limit \`/-/healthy\`.
- An empty file is an error: write \`{}\` for a server without protection. With any key in \`tls_server_config\`, certificate and key are required.
- TLS 1.0 and 1.1, and the keys marked below, are not supported.
- \`client_ca_file\` without \`client_auth_type\`, \`client_allowed_sans\` without required client certificates, and verification without \`client_ca_file\` are errors, because they would have no effect.
- The cost of a password hash is at most ${BCRYPT_COST_MAX}.

`;

/** Renders docs/config.md, the reference of the configuration, from the schemas. */
export function renderConfigReference(): string {
  return [
    INTRODUCTION,
    '\n',
    renderTables(configSchema, '', 3, { defaults: 'routers', groups: 'routers' }),
    SECRETS,
    GROUPS,
    WAY,
    FILES_OF_ROUTERS,
    ROUTER_SOURCES,
    MODULES,
    FIRMWARE_VERSIONS,
    SINKS,
    LOG_RULES,
    WEB,
    renderTables(webFileSchema, '', 3),
  ].join('');
}
