import type { ModuleDefinition } from '../../model/index.ts';
import type { Place } from '../../settings/index.ts';
import { NULL_VALUES_DEFAULT, STATE_LABEL_DEFAULT } from './metric-schema.ts';
import { type ModuleSettings, ROWS_DEFAULT } from './module-schema.ts';

/** A module as it was written, and where. */
export interface ListedModule {
  readonly name: string;
  readonly settings: ModuleSettings;
  readonly place: Place;
  readonly isShipped: boolean;
}

type ResourceDefinition = ModuleDefinition['resources'][number];
type MetricDefinition = ResourceDefinition['metrics'][number];
type ResourceSettings = NonNullable<ModuleSettings['resources']>[number];
type MetricSettings = NonNullable<ResourceSettings['metrics']>[number];

/** Applies the defaults. What lacks something that is required has its fault already and is left out. */
export function toDefinition(name: string, settings: ModuleSettings): ModuleDefinition {
  return {
    name,
    help: settings.help ?? '',
    intervalMs: settings.interval,
    minIntervalMs: settings.min_interval,
    isIdentity: settings.identity ?? false,
    resources: (settings.resources ?? []).flatMap(toResource),
    reader: settings.reader,
  };
}

function toResource(resource: ResourceSettings): ResourceDefinition[] {
  if (resource.path === undefined) return [];
  return [
    {
      path: resource.path,
      isOptional: resource.optional ?? false,
      each: resource.each ?? ROWS_DEFAULT,
      labels: resource.labels ?? {},
      metrics: (resource.metrics ?? []).flatMap(toMetric),
    },
  ];
}

function toMetric(metric: MetricSettings): MetricDefinition[] {
  const { name, help, type } = metric;
  const { values, fields } = metric.null_when ?? {};
  if (name === undefined || help === undefined || type === undefined) return [];
  return [
    {
      name,
      help,
      type,
      value: metric.value,
      unit: metric.unit,
      form: metric.form,
      part: metric.part,
      hasBinaryPrefixes: metric.prefixes === 'binary',
      nullValues: metric.null_values ?? NULL_VALUES_DEFAULT,
      nullWhen: values && fields && { values, fields },
      map: metric.map,
      states: metric.states,
      stateLabel: metric.state_label ?? STATE_LABEL_DEFAULT,
      labels: metric.labels ?? {},
      source: metric.source,
    },
  ];
}
