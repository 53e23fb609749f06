import { z } from 'zod';
import { renderDuration } from '../base/index.ts';
import { sinksSchema } from '../delivery/index.ts';
import type { SoundOf } from '../settings/index.ts';
import {
  byteSize,
  byteSizeWithin,
  choice,
  duration,
  filePatterns,
  listenAddress,
  parsed,
  renderByteSize,
  section,
  text,
  wholeNumber,
} from '../settings/index.ts';
import { parseSchedule } from './cron.ts';
import {
  BACKUP_KEEP_DEFAULT,
  BACKUP_KEEP_MAX,
  BACKUP_PATH_DEFAULT,
  DEAD_LETTERS_BYTES_LEAST,
  DEAD_LETTERS_BYTES_MAX_DEFAULT,
  DEAD_LETTERS_BYTES_MOST,
  DEAD_LETTERS_KEEP_MS,
  DEAD_LETTERS_KEEP_MS_MAX,
  DEAD_LETTERS_KEEP_MS_MIN,
  LISTEN_PORT_DEFAULT,
  STORAGE_PATH_DEFAULT,
} from './defaults.ts';
import { logRulesSchema, redactSchema } from './logs/log-rule-schema.ts';
import { modulesSchema } from './modules/module-schema.ts';
import { layerSchema, routerSchema } from './router-schema.ts';

const AT_LEAST_ONE_LISTEN = `a list of addresses such as [":9847"]`;
/** What must be there, in `routers` or by `router_files`. */
export const AT_LEAST_ONE_ROUTER =
  'a list of at least one router, such as "- name: plant-7" with "url: https://192.0.2.10" below';

const backupSchema = section('Stored profiles of the routers, kept as files.', {
  schedule: parsed(
    {
      description:
        'When they are downloaded, as a cron expression in the time zone of this machine: minute, hour, day of month, month, day of week, with seconds before them if there are six. Day of month and day of week must both fit. They are downloaded after a change was seen, too. Without this key there is no backup.',
      kind: 'cron expression',
    },
    'a cron expression of 5 or 6 fields that comes true some day, such as "0 3 * * *" for three at night',
    parseSchedule,
  ).optional(),
  path: text({
    description:
      'Folder of the files. They hold secrets in plain text, so only the user of this program may read them.',
    default: BACKUP_PATH_DEFAULT,
    kind: 'path',
  }).optional(),
  keep: wholeNumber(
    { description: 'Different versions that are kept of each profile of a router.', default: BACKUP_KEEP_DEFAULT },
    1,
    BACKUP_KEEP_MAX,
  ).optional(),
  format: choice(
    {
      description:
        '`ascii` can be read and compared (`profiles diff`); `binary` is what a router takes back as a whole.',
      default: 'ascii',
    },
    ['binary', 'ascii'],
  ).optional(),
});

/** The configuration file: the one source of what is valid, of its description and of its JSON Schema. */
export const configSchema = section('Configuration of router-exporter.', {
  web: section('The server for metrics and the status page.', {
    listen: z
      .array(listenAddress({ description: 'Address to listen on.' }), { error: AT_LEAST_ONE_LISTEN })
      .min(1, { error: AT_LEAST_ONE_LISTEN })
      .superRefine((addresses, context) => {
        for (const [index, { host, port }] of addresses.entries()) {
          const first = addresses.findIndex((other) => other.host === host && other.port === port);
          if (first === index || port === 0) continue;
          context.addIssue({ code: 'custom', path: [index], message: 'an address that is not in the list yet' });
        }
      })
      .meta({
        // A default here would be lost on the way to the reference, because the items are parsed.
        description: `Addresses to listen on: \`host:port\`, \`:port\` for every address, \`[::1]:port\`. Default: \`[":${LISTEN_PORT_DEFAULT}"]\`.`,
        kind: 'list of addresses',
      })
      .optional(),
    config_file: text({
      description:
        'File with TLS, client certificates, users and headers of the server, in the format of the Prometheus exporters.',
      kind: 'path',
    }).optional(),
  }).optional(),
  storage: section('State that survives a restart.', {
    path: text({
      description: 'Folder of positions and spool.',
      default: STORAGE_PATH_DEFAULT,
      kind: 'path',
    }).optional(),
    spool_max: byteSize({
      description: 'Size that records waiting for their sinks may take before reading of logs pauses.',
      default: '1GiB',
    }).optional(),
  }).optional(),
  defaults: layerSchema.optional(),
  routers: z
    .array(routerSchema, { error: AT_LEAST_ONE_ROUTER })
    .meta({ description: 'The fleet. At least one router here, or `router_files`.' })
    .optional(),
  router_files: filePatterns({
    description:
      'Files with lists of routers, as YAML or JSON, watched for changes. Their routers are added to `routers`; `defaults` holds for them, too.',
    default: [],
  }).optional(),
  modules: modulesSchema
    .meta({
      description:
        'Modules of your own, by name. One with the name of a shipped module replaces it; with `interval` or `min_interval` alone it changes how often the shipped one is read.',
    })
    .optional(),
  module_files: filePatterns({
    description: 'Files with more modules, each a map as in `modules`. They are read again at a reload.',
    default: [],
  }).optional(),
  backup: backupSchema.optional(),
  sinks: sinksSchema.optional(),
  dead_letters: section('Records that a sink refused for good. They are kept to be looked at and tried again.', {
    max: byteSizeWithin(
      {
        description: 'Size that those of all sinks may take together; the oldest go first.',
        default: renderByteSize(DEAD_LETTERS_BYTES_MAX_DEFAULT),
      },
      DEAD_LETTERS_BYTES_LEAST,
      DEAD_LETTERS_BYTES_MOST,
      renderByteSize(DEAD_LETTERS_BYTES_MAX_DEFAULT),
    ).optional(),
    keep: duration(
      { description: 'How long they are kept.', default: renderDuration(DEAD_LETTERS_KEEP_MS) },
      DEAD_LETTERS_KEEP_MS_MIN,
      DEAD_LETTERS_KEEP_MS_MAX,
    ).optional(),
  }).optional(),
  log_rules: logRulesSchema.optional(),
  redact: redactSchema.optional(),
});

/** What is sound of the file, before defaults are applied and files are read. */
export type Settings = SoundOf<typeof configSchema>;
