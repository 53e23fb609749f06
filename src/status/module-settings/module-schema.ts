import { z } from 'zod';
import type { SoundOf } from '../../settings/index.ts';
import { checked, choice, duration, flag, help, name, section } from '../../settings/index.ts';
import {
  FIELD_CHARS_MAX,
  MODULE_RESOURCES_MAX,
  MODULES_MAX,
  RESOURCE_METRICS_MAX,
  RESOURCE_PATH_CHARS_MAX,
} from './bounds.ts';
import { isField, isJoinKey, isResourcePath, isRows, isSinglePath } from './grammar.ts';
import { deviceCondition, labelSources, metricSchema } from './metric-schema.ts';

/** Stands in the list of a router for all modules of the default set. */
export const DEFAULT_SET = 'default';

const METRICS = `a list of at most ${RESOURCE_METRICS_MAX} metrics`;
const RESOURCES = `a list of 1 to ${MODULE_RESOURCES_MAX} resources`;

const JOIN_KEY = 'where the key of a row comes from: a field, "..field" of the row around, $resource, $slot or $index';

const joinSchema = section('A row of another resource for each row, for labels: `@field`.', {
  path: checked(
    {
      description: 'Path of the other resource, without a star. It is read for the join, if no module reads it.',
      kind: 'path',
    },
    'the path of one resource, such as sysdetail/system or /profiles',
    RESOURCE_PATH_CHARS_MAX,
    isSinglePath,
  ),
  each: checked(
    {
      description: 'Where its rows are, as for the resource. Required for a path with a leading slash.',
      kind: 'steps',
    },
    'steps to the rows such as status.unique, status.list or status.list[].sublist',
    FIELD_CHARS_MAX,
    isRows,
  ).prefault('status.unique'),
  by: checked(
    {
      description:
        'Where the key of a row comes from, as for labels: a field, `..field`, `$resource`, `$slot` or `$index`.',
      kind: 'source',
    },
    JOIN_KEY,
    FIELD_CHARS_MAX,
    isJoinKey,
  ),
  key: checked(
    {
      description: 'Field of the other rows that has the same text. Of several rows with it the first counts.',
      kind: 'field',
    },
    'the name of a field',
    FIELD_CHARS_MAX,
    isField,
  ),
});

/** One resource of a module. */
export const resourceSchema = section('One resource, or with a star a family of them.', {
  path: checked(
    {
      description:
        'Path below `/status/`, such as `sysdetail/system`. A `*` after the first segment stands for the number of a slot, as in `lte*`. With a leading slash: below the root of the interface, such as `/profiles`.',
      kind: 'path',
    },
    'the path of a resource, such as lte2, lte*, sysdetail/system or /profiles',
    RESOURCE_PATH_CHARS_MAX,
    isResourcePath,
  ),
  optional: flag({ description: 'True if devices may lack the resource; its absence is then no failure.' }).prefault(
    false,
  ),
  each: checked(
    {
      description:
        'Where the rows are: `status.unique`, `status.list`, or `status.list[].sublist` for rows inside rows. Required for a path with a leading slash.',
      kind: 'steps',
    },
    'steps to the rows such as status.unique, status.list or status.list[].sublist',
    FIELD_CHARS_MAX,
    isRows,
  ).prefault('status.unique'),
  labels: labelSources(
    'Labels of all metrics of the resource: a field of the row, `..field` of the row around it or beside the list, `$resource`, `$slot`, `$index` (place of the row, from 1), `$match` (what the star of `value` stood for), `@field` of the row of `join`, or a fixed text after `=`.',
  ),
  join: joinSchema.optional(),
  when: deviceCondition(
    'Routers that are asked for the resource, by their `device_info`. The others are not asked. Default: all.',
  ),
  metrics: z
    .array(metricSchema, { error: METRICS })
    .max(RESOURCE_METRICS_MAX, { error: METRICS })
    .meta({ description: 'Metrics of a row.' }),
});

/** A module as a person writes it. */
const moduleSchema = section('One module.', {
  help: help('One sentence for the reference.').optional(),
  interval: duration({
    description: 'How often the resources are read, slower or faster than `poll.interval`, which is the default.',
  }).optional(),
  min_interval: duration({
    description:
      'The resources are read as often as `poll.interval` says, but not more often than this. Instead of `interval`.',
  }).optional(),
  identity: flag({
    description:
      'Whether the values say who the router is: they are then served for as long as it is configured, and read again when it comes back.',
  }).prefault(false),
  resources: z
    .array(resourceSchema, { error: RESOURCES })
    .min(1, { error: RESOURCES })
    .max(MODULE_RESOURCES_MAX, { error: RESOURCES })
    .meta({ description: 'The resources. Required, except to change the interval of a shipped module.' })
    .optional(),
});

/** A module that is shipped, which can do a little more. */
export const shippedModuleSchema = moduleSchema.extend({
  reader: choice({ description: 'A reading that is more than documents to metrics.' }, [
    'configuration',
    'log_files',
  ]).optional(),
  default: flag({ description: 'Whether it belongs to the default set.' }).prefault(true),
});

const moduleName = name({ description: 'Name of the module.' }).refine((value) => value !== DEFAULT_SET, {
  error: `a name other than "${DEFAULT_SET}", which stands for all modules of the default set`,
});

const MODULES = 'a map of names and modules';

/** The key `modules`, and the whole of a file of modules. */
export const modulesSchema = z.record(moduleName, moduleSchema, { error: MODULES });

const MODULE_LIST = `a list of modules such as "${DEFAULT_SET}" and "!modem", at least one of them without "!"`;
const MODULE_CHOICE = `the name of a module, "${DEFAULT_SET}", or a name after "!"`;

/** The key `modules` of a router. */
export const moduleListSchema = z
  .array(z.string({ error: MODULE_CHOICE }).regex(/^!?[A-Za-z0-9._-]+$/, { error: MODULE_CHOICE }), {
    error: MODULE_LIST,
  })
  .max(MODULES_MAX, { error: `a list of at most ${MODULES_MAX} modules` })
  .refine((names) => names.length === 0 || names.some((item) => !item.startsWith('!')), { error: MODULE_LIST })
  .meta({
    description: `Modules that are read from the router. \`${DEFAULT_SET}\` stands for all shipped modules of the default set, a leading \`!\` removes one, in any order. With an empty list only the router's availability is polled.`,
    kind: 'list of names of modules',
  });

/** The valid keys of a module. Only shipped ones have `reader` and `default`. */
export type ModuleSettings = SoundOf<typeof shippedModuleSchema>;
/** The valid keys of a resource. */
export type ResourceSettings = SoundOf<typeof resourceSchema>;
