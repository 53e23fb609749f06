import { z } from 'zod';
import { parseDuration, renderDuration } from '../base/index.ts';
import type { SoundOf } from '../settings/index.ts';
import {
  byteBudget,
  choice,
  duration,
  flag,
  globs,
  LABEL_CHARS_MAX,
  labelName,
  name,
  parsed,
  routerUrl,
  secret,
  section,
  text,
  timeZone,
  tlsSection,
} from '../settings/index.ts';
import { DEFAULT_SET, MODULES_MAX } from '../status/index.ts';
import type { LogSettings } from './config.ts';
import {
  LABELS_MAX,
  LOGS_INTERVAL_MS,
  LOGS_START_BACK_MS_MAX,
  LOGS_START_BACK_MS_MIN,
  POLL_CONNECT_TIMEOUT_MS,
  POLL_DEADLINE_MS,
  POLL_INTERVAL_MS,
  POLL_STALE_AFTER_MS,
  POLL_TIMEOUT_MS,
} from './defaults.ts';

/**
 * Labels that the agent itself puts on series of routers or on records, whichever modules a router has. Those of modules
 * are checked against the modules of the router.
 */
const LABELS_OF_AGENT: ReadonlySet<string> = new Set(
  'component resource reason profile section certainty activity'.split(' '),
);

const routerLabelName = labelName.refine((label) => !LABELS_OF_AGENT.has(label), {
  error: 'a label name that the exporter does not use itself',
});

const LABEL_VALUE = `text of at most ${LABEL_CHARS_MAX} characters (a number needs quotes)`;

const labels = z
  .record(routerLabelName, z.string({ error: LABEL_VALUE }).max(LABEL_CHARS_MAX, { error: LABEL_VALUE }), {
    error: 'a map of label names and values',
  })
  .refine((map) => Object.keys(map).length <= LABELS_MAX, { error: `at most ${LABELS_MAX} labels` })
  .meta({
    description:
      'Labels added to the series and log records of the router. An empty value takes away a label that `defaults` gives. No metric of a module of the router, and no log rule, may have a label of the same name.',
    kind: 'map of label names to texts',
  });

const tls = tlsSection({
  section: 'How the certificate of an https router is checked.',
  caFile:
    'PEM file with the certificates of the authorities to trust, instead of those of the system. A self-signed certificate of a router is its own authority.',
  serverName: 'Host name that the certificate must carry. Default: the host of `url`.',
  certFile: 'PEM file with the certificate that the agent shows to a router that asks for one. With `key_file`.',
  fingerprint:
    'SHA-256 of the certificate of the router, in hexadecimal. No other certificate is accepted; without `ca_file` this one needs nobody else to vouch for it.',
  insecure: 'Accepts every certificate. Whoever stands between agent and router can then read the password.',
});

const poll = section('When the status of the router is read.', {
  interval: duration({
    description: 'Time from one cycle to the next.',
    default: renderDuration(POLL_INTERVAL_MS),
  }).optional(),
  timeout: duration({
    description: 'Limit of one request. The default shrinks to `deadline` when that is shorter.',
    default: renderDuration(POLL_TIMEOUT_MS),
  }).optional(),
  connect_timeout: duration({
    description:
      'Limit of opening one TCP connection, over all addresses of a name (the first gets half of it, 2 s at most, before the next is tried); resolving the name and the TLS handshake count against `timeout` alone. When it passes, the cycle ends, and the logs wait for the next one. The default shrinks to `timeout` when that is shorter.',
    default: renderDuration(POLL_CONNECT_TIMEOUT_MS),
  }).optional(),
  deadline: duration({
    description: 'Limit of one cycle. The default shrinks to three quarters of `interval` when that is shorter.',
    default: renderDuration(POLL_DEADLINE_MS),
  }).optional(),
  stale_after: duration({
    description:
      'How long the last values are served when the router stops answering. The default grows to three times `interval` when that is longer.',
    default: renderDuration(POLL_STALE_AFTER_MS),
  }).optional(),
});

const START = `"all", "now", or a duration with its unit from ${renderDuration(LOGS_START_BACK_MS_MIN)} to ${renderDuration(LOGS_START_BACK_MS_MAX)}, such as 12h or 30d`;

function parseStart(value: string): LogSettings['start'] | undefined {
  if (value === 'all' || value === 'now') return value;
  const backMs = parseDuration(value);
  const isSound = backMs !== undefined && backMs >= LOGS_START_BACK_MS_MIN && backMs <= LOGS_START_BACK_MS_MAX;
  return isSound ? { backMs } : undefined;
}

const logs = section('How the logs of the router are followed. Without a sink no log is read.', {
  enabled: flag({ description: 'Whether logs are read at all.', default: true }).optional(),
  interval: duration({
    description: 'Time from one look for new lines to the next.',
    default: renderDuration(LOGS_INTERVAL_MS),
  }).optional(),
  start: parsed(
    {
      description:
        'What is read on first contact with a log: `all` that the router still has, only what is written from `now` on, or a duration back from now, such as `30d`.',
      default: 'all',
      kind: '`all`, `now`, duration',
    },
    START,
    parseStart,
  ).optional(),
  components: globs('Globs of the components to read; a leading `!` excludes.').optional(),
});

const MODULES = `a list of modules such as "${DEFAULT_SET}" and "!modem", at least one of them without "!"`;
const MODULE = `the name of a module, "${DEFAULT_SET}", or a name after "!"`;

const modules = z
  .array(z.string({ error: MODULE }).regex(/^!?[A-Za-z0-9._-]+$/, { error: MODULE }), { error: MODULES })
  .max(MODULES_MAX, { error: `a list of at most ${MODULES_MAX} modules` })
  .refine((names) => names.length === 0 || names.some((item) => !item.startsWith('!')), { error: MODULES })
  .meta({
    description: `Modules that say what is read of the router. \`${DEFAULT_SET}\` stands for all shipped modules of the default set, a leading \`!\` takes one away, whatever the order. An empty list: nothing but whether the router answers.`,
    default: [DEFAULT_SET],
    kind: 'list of names of modules',
  });

const layerShape = {
  username: text({
    description: 'Account on the router. Required here or in `defaults`, but for `auth: none`.',
  }).optional(),
  password: secret({
    description:
      'Password of the account. This or `password_file` is required, here or in `defaults`, but for `auth: none`.',
  }).optional(),
  password_file: text({
    description: 'File that holds the password; one line end after it is ignored. Instead of `password`.',
    kind: 'path',
  }).optional(),
  auth: choice(
    {
      description:
        'How requests are authenticated: `token` logs in, `basic` sends the password with every request, `none` is for devices without users.',
      default: 'token',
    },
    ['token', 'basic', 'none'],
  ).optional(),
  tls: tls.optional(),
  timezone: timeZone({
    description:
      'Time zone of the clock that the router writes into its logs. Without it the UTC offset is learnt from the router before its first line; records of a router that does not show its offset are in UTC and flagged `zone_assumed`.',
  }).optional(),
  labels: labels.optional(),
  poll: poll.optional(),
  logs: logs.optional(),
  modules: modules.optional(),
  byte_budget: byteBudget({
    description:
      'Bytes that the router may cost in a day (UTC), both directions, TLS included; 0 is no budget. As it runs out, slow modules are read less often, then all status, then logs.',
    default: 0,
  }).optional(),
};

/** What `defaults` may hold. */
export const layerSchema = section(
  'Any key of a router except `name` and `url`; what a router sets itself wins.',
  layerShape,
);

/** One item of `routers`. */
export const routerSchema = section('One router.', {
  name: name({ description: 'Unique name of the router: its label `router` in metrics and logs.' }),
  url: routerUrl({ description: 'Address of the router: http or https, host, port and an optional path prefix.' }),
  ...layerShape,
});

/** What `defaults` and each router may set. */
export type Layer = SoundOf<typeof layerSchema>;

const ROUTERS = 'a list of routers';

/** The whole of a file that `router_files` names. */
export const routerListSchema = z.array(routerSchema, { error: ROUTERS });

/** What is sound of an item of `routers`. */
export type ListedRouter = SoundOf<typeof routerSchema>;
