import { SINKS_MAX } from '../delivery/index.ts';
import { LOG_RULES_MAX, REDACT_MAX } from '../logs/index.ts';
import { CONFIG_FILE_BYTES_MAX, METRIC_LABELS_MAX } from '../settings/index.ts';
import { MODULE_RESOURCES_MAX, MODULES_MAX, RESOURCE_METRICS_MAX } from '../status/index.ts';
import { BCRYPT_COST_MAX, webSchema } from '../web/index.ts';
import { renderTables } from './reference-tables.ts';
import { ROUTER_FILES_BYTES_MAX, ROUTER_FILES_MAX } from './router-files.ts';
import { configSchema } from './schema.ts';

const MIB = 1024 ** 2;

const INTRODUCTION = `# Configuration

<!-- Written by \`npm run docs\` from the schema in src/config. Do not edit. -->

\`router-exporter.yaml\`, or the file that \`--config.file\` names, is YAML. [router-exporter.example.yaml](router-exporter.example.yaml) shows every key in place,
\`router-exporter check\` tells all faults at once with file, line and column, and \`router-exporter schema\` prints a JSON Schema for editors.

- Unknown keys are errors.
- Durations need a unit: \`30s\`, \`5m\`, \`1h30m\`. So do sizes: \`512KiB\`, \`20MiB\`, \`1GiB\`.
- \`\${NAME}\` and \`\${NAME:-default}\` are replaced from the environment in every value that is text; \`$\${\` stands for \`\${\` itself.
- Relative paths start at the folder of the file that they stand in.
- A secret can stand in a file of its own: \`password_file\` instead of \`password\`. Secrets are never printed.
- Files that the configuration names are read at the start and at a reload. A reload is all or nothing: with any fault, what runs goes on unchanged.

## Keys
`;

const FILES_OF_ROUTERS = `
<a id="files-of-routers"></a>

## Files of routers

Each file that \`router_files\` leads to is a list of routers, with the same keys as [\`routers\`](#routers), as YAML or JSON. \`defaults\` of the main file holds for them.

\`\`\`yaml
- name: plant-8
  url: https://192.0.2.11
  labels: { site: hamburg }
\`\`\`

- An entry of \`router_files\` is a path or a glob (\`*\`, \`?\`, \`[a-z]\`, \`{a,b}\`). A path whose file is missing is a fault; a glob that fits nothing is none. Folders and hidden files fit no star, and \`**\` is refused.
- The name of a router is unique over all files.
- The files are looked at every few seconds. When one was changed, added or removed, and has come to rest, the configuration is reloaded. Replacing a file by renaming, or by moving a link as Kubernetes does, is seen too.
- An empty file is a fault, because it is more often a file that is being written than one that means no router: write \`[]\`.
- At most ${ROUTER_FILES_MAX} files, ${CONFIG_FILE_BYTES_MAX / MIB} MiB each, ${ROUTER_FILES_BYTES_MAX / MIB} MiB together.
`;

const MODULES = `
<a id="modules"></a>

## Modules

A module says which resources of a router are read, how often, and which metrics their documents become. The modules that are shipped and your own have the same format and pass the same checks.

\`\`\`yaml
modules:
  # A module of your own: routers have it when their list of modules names it.
  fuel_level:
    min_interval: 5m
    resources:
      - path: adio*
        optional: true
        labels: { slot: $slot }
        metrics:
          - { name: router_fuel_level_volts, help: Voltage of the fuel gauge., type: gauge, value: analog_input_1, unit: V }
  # A shipped module at another pace.
  modem: { interval: 15s }
\`\`\`

- A file that \`module_files\` leads to is such a map, without the key \`modules\` around it. Globs are as in [files of routers](#files-of-routers); these files are not watched, but read at a reload.
- A module with the name of a shipped one replaces it, also in the default set. With nothing but \`interval\` or \`min_interval\` it changes how often the shipped one is read.
- \`modules\` of a router, or of \`defaults\`, lists names. \`default\` stands for all shipped modules of the default set, \`"!modem"\` takes one away, whatever the order. Modules of your own have to be named.
- Names of metrics: letters, digits and \`_\`. A counter ends in \`_total\`, an info metric in \`_info\`. Other names may not end in \`_total\`, \`_info\`, \`_bucket\`, \`_count\`, \`_sum\` or \`_created\`, and none may begin with \`router_exporter_\`, \`process_\`, \`nodejs_\`, \`go_\` or \`scrape_\`, or be one that the agent itself exposes.
- A name has one type and one help, in all modules together.
- Names of labels do not begin with \`__\`, and are not \`router\`, \`le\` or \`quantile\`. Labels that a router is given in \`labels\` may not be labels of its modules.
- At most ${MODULES_MAX} modules, ${MODULE_RESOURCES_MAX} resources in each, ${RESOURCE_METRICS_MAX} metrics in each of these, ${METRIC_LABELS_MAX} labels.
`;

const LOG_RULES = `
<a id="log-rules-and-redaction"></a>

## Log rules and redaction

A log rule makes a metric of lines: it searches the message of every line of some components for a pattern. What is in \`redact\` is removed from messages first, so that it reaches neither records nor metrics.

\`\`\`yaml
log_rules:
  # The shipped rules. Without this item they are off.
  - default
  # How often each interface gave out an address: counts lines.
  - name: router_dhcp_acks_total
    help: Times that the DHCP server gave out an address.
    type: counter
    components: [network]
    pattern: 'DHCPACK on .* via (?P<interface>\\w+)'
    labels: [interface]
  # The last value that a line told.
  - name: router_ntp_adjustment_seconds
    help: By how much the clock was last set right.
    type: gauge
    pattern: 'clock adjusted by (?P<seconds>[-+.\\d]+) s'
    value: seconds
redact:
  # As text: [redacted] stands there instead.
  - '\\b[0-9a-f]{2}(:[0-9a-f]{2}){5}\\b'
  - { pattern: 'password=\\S+', replacement: 'password=***' }
\`\`\`

- Patterns have the syntax of [RE2](https://github.com/google/re2/wiki/Syntax), which has no look-ahead, no look-behind and no references back: so no pattern can hang the program. \`(?i)\` at the start ignores case, \`^\` and \`$\` are the ends of the message. Put them in single quotes; the environment is filled in, so that \`\${\` is written \`$\${\`.
- A pattern has at most 1000 characters, and not too many repetitions such as \`{200}\` inside of each other.
- Every series of a rule has the labels \`router\` and \`component\`, and those of the router. These may not be labels of a rule.
- At most 100 series of a metric for each router; further ones become one whose labels say \`other\`. A value that is no number, or that would make a counter fall, is passed over.
- Names of metrics are as in [modules](#modules). Several rules may have the same one, if type, help and labels are the same; then they count together. No module and not the agent may have it.
- The shipped rules guess: nobody has published how routers word their lines. They count logins (\`router_log_logins_total\`, by \`result\`), changes of the WAN chain (\`router_log_wan_changes_total\`) and of modems (\`router_log_modem_changes_total\`, by \`state\`), tunnels that came up or went down (\`router_log_vpn_changes_total\`, by \`state\`), and starts (\`router_log_reboots_total\`). To replace them, leave \`default\` out and write your own.
- A pattern in \`redact\` may not match the empty text. Where a message has so many matches that they would take too long, or so many that it would grow without bound, all the rest of it is replaced.
- At most ${LOG_RULES_MAX} log rules and ${REDACT_MAX} patterns in \`redact\`.
`;

const SINKS = `
<a id="sinks-and-dead-letters"></a>

## Sinks and dead letters

A sink is where log records go. Each has its own place in the spool: one that is down holds nobody else back, and gets what it missed when it is up again.

\`\`\`yaml
sinks:
  - name: loki
    type: loki
    url: https://loki.example.net
    tenant: plants
    username: agent
    password_file: loki.pw
  # Warnings and worse, and everything that says that lines are missing.
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

- The type decides which keys there are. A key of another type is a fault that says to which it belongs.
- A record goes to a sink when router, component, severity and kind of record fit one of its globs each, and none that begins with \`!\`.
- There is one way to prove who the agent is: \`username\` with \`password\`, a \`bearer_token\`, and, where there are such keys, \`api_key\` or \`credentials_file\`. Without any, nothing is proven.
- The values of headers are secrets. \`Content-Type\` and other headers that belong to the connection or the body cannot be set.
- An \`url\` has neither credentials nor query: VictoriaLogs, for instance, takes as headers (\`VL-Stream-Fields\`) what it takes as a query.
- \`tls\` is a fault where the address is not one of TLS, because it would not protect as it seems to.
- \`0\` needs no unit.
- Two sinks have neither one name nor one file. At most ${SINKS_MAX} sinks.
`;

const WEB = `
<a id="web-configuration-file"></a>

## The web configuration file

The file that \`web.config_file\` or \`--web.config.file\` names has the format of the Prometheus exporters
([exporter-toolkit](https://github.com/prometheus/exporter-toolkit/blob/master/docs/web-configuration.md)), so that one file can serve several of them. The differences:

- It is read at the start and at a reload, not at every request. The environment is not filled in.
- An empty file is a fault: write \`{}\` for a server without protection. With any key in \`tls_server_config\`, certificate and key are required.
- TLS 1.0 and 1.1 are not supported. Neither are the keys that say so below.
- \`client_ca_file\` without \`client_auth_type\`, \`client_allowed_sans\` where clients need no certificate, and certificates that are verified without a \`client_ca_file\` are faults, because they would not protect as they seem to.
- The cost of a password's hash is at most ${BCRYPT_COST_MAX}.

`;

/** Renders docs/config.md, the reference of the configuration, from the schemas. */
export function renderConfigReference(): string {
  return [
    INTRODUCTION,
    '\n',
    renderTables(configSchema, '', 3, { defaults: 'routers' }),
    FILES_OF_ROUTERS,
    MODULES,
    SINKS,
    LOG_RULES,
    WEB,
    renderTables(webSchema, '', 3),
  ].join('');
}
