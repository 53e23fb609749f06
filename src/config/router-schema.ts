import { z } from 'zod';
import { renderDuration } from '../base/index.ts';
import {
  LABEL_CHARS_MAX,
  LABELS_MAX,
  LOGS_INTERVAL_MS,
  POLL_DEADLINE_MS,
  POLL_INTERVAL_MS,
  POLL_STALE_AFTER_MS,
  POLL_TIMEOUT_MS,
} from './defaults.ts';
import { duration, fingerprint, flag, name, routerUrl, secret, section, text, timeZone } from './schema-values.ts';

/** Labels that the product itself puts on a router's series, and those that have a meaning in the text format. */
const LABELS_RESERVED: ReadonlySet<string> = new Set(
  'router component resource reason state profile section certainty slot board_type hardware_version hardware_features firmware_version serial_number le quantile'.split(
    ' ',
  ),
);

const labelName = z
  .string()
  .regex(/^[a-zA-Z_][a-zA-Z0-9_]*$/, {
    error: 'a label name of letters, digits and "_" that does not begin with a digit',
  })
  .refine((label) => !label.startsWith('__'), {
    error: 'a label name that does not begin with "__", which is reserved',
  })
  .refine((label) => !LABELS_RESERVED.has(label), { error: 'a label name that the exporter does not use itself' });

const LABEL_VALUE = `text of at most ${LABEL_CHARS_MAX} characters (a number needs quotes)`;

const labels = z
  .record(labelName, z.string({ error: LABEL_VALUE }).max(LABEL_CHARS_MAX, { error: LABEL_VALUE }), {
    error: 'a map of label names and values',
  })
  .refine((map) => Object.keys(map).length <= LABELS_MAX, { error: `at most ${LABELS_MAX} labels` })
  .meta({
    description:
      'Labels added to the series and log records of the router. An empty value takes away a label that `defaults` gives.',
  });

const tls = section('How the certificate of an https router is checked.', {
  ca_file: text({
    description:
      'PEM file with the certificates of the authorities to trust, instead of those of the system. A self-signed certificate of a router is its own authority.',
  }).optional(),
  server_name: text({
    description: 'Host name that the certificate must carry. Default: the host of `url`.',
  }).optional(),
  cert_file: text({
    description: 'PEM file with the certificate that the agent shows to a router that asks for one. With `key_file`.',
  }).optional(),
  key_file: text({ description: 'PEM file with the private key of `cert_file`, without a passphrase.' }).optional(),
  fingerprint_sha256: fingerprint({
    description:
      'SHA-256 of the certificate of the router, in hexadecimal. No other certificate is accepted; without `ca_file` this one needs nobody else to vouch for it.',
  }).optional(),
  insecure_skip_verify: flag({
    description: 'Accepts every certificate. Whoever stands between agent and router can then read the password.',
    default: false,
  }).optional(),
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

const COMPONENTS = 'a list of globs such as "*" and "!kernel", at least one of them without "!"';
const GLOB = 'a glob such as "network" or "!kernel"';

const logs = section('How the logs of the router are followed. Without a sink no log is read.', {
  enabled: flag({ description: 'Whether logs are read at all.', default: true }).optional(),
  interval: duration({
    description: 'Time from one look for new lines to the next.',
    default: renderDuration(LOGS_INTERVAL_MS),
  }).optional(),
  start: z
    .enum(['all'], { error: '"all", the only way to start that this version knows' })
    .meta({ description: 'What is read on first contact with a log: `all` that the router still has.', default: 'all' })
    .optional(),
  components: z
    .array(z.string({ error: GLOB }).regex(/^!?[^!\s]+$/, { error: GLOB }), { error: COMPONENTS })
    .refine((globs) => globs.some((glob) => !glob.startsWith('!')), { error: COMPONENTS })
    .meta({ description: 'Globs of the components to read; a leading `!` excludes.', default: ['*'] })
    .optional(),
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
  }).optional(),
  auth: z
    .enum(['token', 'basic', 'none'], { error: '"token", "basic" or "none"' })
    .meta({
      description:
        'How requests are authenticated: `token` logs in, `basic` sends the password with every request, `none` is for devices without users.',
      default: 'token',
    })
    .optional(),
  tls: tls.optional(),
  timezone: timeZone({
    description:
      'Time zone of the clock that the router writes into its logs. Without it UTC is assumed, and every record is flagged `zone_assumed`.',
  }).optional(),
  labels: labels.optional(),
  poll: poll.optional(),
  logs: logs.optional(),
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
export type Layer = z.output<typeof layerSchema>;
