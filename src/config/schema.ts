import { z } from 'zod';
import { backupSchema } from '../backup/index.ts';
import { clusterSchema } from '../cluster/index.ts';
import { sinksSchema } from '../delivery/index.ts';
import { sourcesSchema } from '../inventory/index.ts';
import { logRulesSchema, redactSchema } from '../logs/index.ts';
import { connectionsSchema } from '../router/index.ts';
import { scheduleSchema } from '../schedule/index.ts';
import type { SoundOf } from '../settings/index.ts';
import { filePatterns, section } from '../settings/index.ts';
import { modulesSchema } from '../status/index.ts';
import { deadLettersSchema, storageSchema } from '../store/index.ts';
import { webSectionSchema } from '../web/index.ts';
import { credentialsSchema, groupsSchema, layerSchema, routerSchema, tlsSetsSchema } from './router-schema.ts';

/** Expected at `routers`, unless there is `router_files`. Completes "Expected …". */
export const AT_LEAST_ONE_ROUTER =
  'a list of at least one router, such as "- name: plant-7" with "url: https://192.0.2.10" below';

/** The configuration file: the one source of what is valid, of its description and of its JSON Schema. */
export const configSchema = section('Configuration of router-exporter.', {
  web: webSectionSchema.optional(),
  storage: storageSchema.optional(),
  cluster: clusterSchema.optional(),
  schedule: scheduleSchema.optional(),
  connections: connectionsSchema.optional(),
  defaults: layerSchema.optional(),
  groups: groupsSchema.optional(),
  credentials: credentialsSchema.optional(),
  tls_sets: tlsSetsSchema.optional(),
  routers: z
    .array(routerSchema, { error: AT_LEAST_ONE_ROUTER })
    .meta({ description: 'Routers. At least one is required, unless there is `router_files`.' })
    .optional(),
  router_files: filePatterns({
    description:
      'Files with lists of routers, as YAML or JSON, watched for changes. Their routers are added to `routers`; `defaults` applies to them.',
  }).prefault([]),
  router_sources: sourcesSchema.prefault([]),
  modules: modulesSchema
    .meta({
      description:
        'Modules of your own, by name. One with the name of a shipped module replaces it; with `interval` or `min_interval` alone it changes how often the shipped one is read.',
    })
    .optional(),
  module_files: filePatterns({
    description: 'Files with more modules, each a map as in `modules`. They are read again on reload.',
  }).prefault([]),
  backup: backupSchema.optional(),
  sinks: sinksSchema.optional(),
  dead_letters: deadLettersSchema.optional(),
  log_rules: logRulesSchema.optional(),
  redact: redactSchema.prefault([]),
});

/** The valid keys of the file, before defaults are applied and files are read. */
export type Settings = SoundOf<typeof configSchema>;
