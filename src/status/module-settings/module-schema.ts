import { z } from 'zod';
import {
  checked,
  choice,
  duration,
  flag,
  help,
  isWhole,
  name,
  type Place,
  type Settled,
  type SoundOf,
  section,
} from '../../settings/index.ts';
import {
  FIELD_CHARS_MAX,
  isField,
  isLabelSource,
  isResourcePath,
  isRows,
  JOINED,
  MODULE_RESOURCES_MAX,
  MODULES_MAX,
  RESOURCE_METRICS_MAX,
  RESOURCE_PATH_CHARS_MAX,
} from './grammar.ts';
import { deviceCondition, labelSources, metricSchema, sourceChoice } from './metric-schema.ts';

/** In the list of a router: all modules of the default set. */
export const DEFAULT_SET = 'default';

const METRICS = `a list of at most ${RESOURCE_METRICS_MAX} metrics`;
const RESOURCES = `a list of 1 to ${MODULE_RESOURCES_MAX} resources`;

const JOIN_KEY = 'where the key of a row comes from: a field, "..field" of the row around, $resource, $slot or $index';

/** A key has the sources of a label, but only those of the row itself. */
function isJoinKey(text: string): boolean {
  return isLabelSource(text) && !text.startsWith('=') && !text.startsWith(JOINED) && text !== '$match';
}

function isSinglePath(text: string): boolean {
  return isResourcePath(text) && !text.includes('*');
}

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

const resourceSchema = section('One resource, or with a star a family of them.', {
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
    'Labels of all metrics of the resource: a field of the row, `..field` of the enclosing row or next to the list, `$resource`, `$slot`, `$index` (place of the row, from 1), `$match` (what the star of `value` stood for), `@field` of the row of `join`, or a fixed text after `=`.',
  ),
  join: joinSchema.optional(),
  source: sourceChoice('Where it is known from that devices have the resource, and with it all of its fields.'),
  when: deviceCondition(
    'Routers that are asked for the resource, by their `device_info`. The others are not asked. Default: all.',
  ),
  metrics: z
    .array(metricSchema, { error: METRICS })
    .max(RESOURCE_METRICS_MAX, { error: METRICS })
    .meta({ description: 'Metrics of a row.' }),
});

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

/** A shipped module has additional keys. */
export const shippedModuleSchema = moduleSchema.extend({
  reader: choice({ description: 'A reading that is more than documents to metrics.' }, [
    'compliance',
    'configuration',
    'generic',
    'log_files',
  ]).optional(),
  default: flag({ description: 'Whether it belongs to the default set.' }).prefault(true),
});

const moduleName = name({ description: 'Name of the module.' }).refine((value) => value !== DEFAULT_SET, {
  error: `a name other than "${DEFAULT_SET}", which stands for all modules of the default set`,
});

const MODULES = 'a map of names and modules';

/** Schema of the key `modules`, and of a file of modules. */
export const modulesSchema = z.record(moduleName, moduleSchema, { error: MODULES });

const MODULE_LIST = `a list of modules such as "${DEFAULT_SET}" and "!modem", at least one of them without "!"`;
const MODULE_CHOICE = `the name of a module, "${DEFAULT_SET}", or a name after "!"`;

/** Schema of the key `modules` of a router. */
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

/** The valid keys of a module and their position. */
export interface ListedModule {
  readonly name: string;
  readonly settings: ModuleSettings;
  readonly place: Place;
  readonly isShipped: boolean;
}

/**
 * A declarative mapping: which resources of a router are read, how often, and which metrics their documents become. Shipped modules and
 * those of the configuration have the same format and pass the same checks. Times are milliseconds.
 */
export type ModuleDefinition = Settled<Omit<WholeModule, IntervalKey> & Partial<Pick<WholeModule, IntervalKey>>> & {
  /** The module with the metrics that a router does not have, which still count as readers of their fields; absent: it has all. */
  readonly unfiltered?: ModuleDefinition | undefined;
};
type WholeModule = ReturnType<typeof toDefinition>;
type IntervalKey = 'intervalMs' | 'minIntervalMs' | 'reader';

/** One status resource, or a family of them. */
export type ResourceDefinition = ModuleDefinition['resources'][number];
/** One metric of a resource. */
export type MetricDefinition = ResourceDefinition['metrics'][number];
/**
 * Conversion of text to a number. If absent, the form is detected: a number with the declared unit, hexadecimal with `0x`, a percentage
 * (to a ratio), a duration (to seconds), a date (to Unix seconds in the router's zone). Otherwise only that form is accepted, and a value
 * of another known form is left to another metric.
 */
export type ValueForm = NonNullable<MetricDefinition['form']>;
/** The series of a metric that a router has, by globs of label values; an absent label has an empty value. */
export interface SampleSelection {
  /** Series that match one of these. Default: all. */
  readonly allow?: readonly Readonly<Record<string, string>>[] | undefined;
  /** Without series that match one of these. */
  readonly deny: readonly Readonly<Record<string, string>>[];
}

/** Converts the keys of a module. Resources with a missing required key already have a fault, and are left out. */
export function toDefinition(module: string, settings: ModuleSettings) {
  const { interval: intervalMs, min_interval: minIntervalMs, identity: isIdentity = false, reader } = settings;
  const resources = (settings.resources ?? []).flatMap(toResource);
  return { name: module, help: settings.help ?? '', intervalMs, minIntervalMs, isIdentity, resources, reader };
}

function toResource(resource: ResourceSettings) {
  if (!isWhole(resourceSchema, resource)) return [];
  const { optional: isOptional, labels = {}, metrics, source, ...same } = resource;
  const known = source && { source };
  return [{ ...same, isOptional, labels, metrics: metrics.map(toMetric).map((one) => ({ ...one, ...known })) }];
}

function toMetric({ prefixes, null_values, null_when, state_label, labels = {}, ...same }: MetricKeys) {
  const hasBinaryPrefixes = prefixes === 'binary';
  // Set by the section `metrics` of a router.
  const chosen: { selection?: SampleSelection | undefined } = {};
  return {
    ...same,
    labels,
    hasBinaryPrefixes,
    nullValues: null_values,
    nullWhen: null_when,
    stateLabel: state_label,
    ...chosen,
  };
}

type MetricKeys = z.output<typeof metricSchema>;
