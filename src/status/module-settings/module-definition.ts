import type { z } from 'zod';
import { isWhole, type Place, type Settled } from '../../settings/index.ts';
import type { metricSchema } from './metric-schema.ts';
import { type ModuleSettings, type ResourceSettings, resourceSchema } from './module-schema.ts';
import type { SampleSelection } from './sample-selection.ts';

/** The valid keys of a module, and their position. */
export interface ListedModule {
  readonly name: string;
  readonly settings: ModuleSettings;
  readonly place: Place;
  readonly isShipped: boolean;
}

/**
 * A declarative mapping: which resources of a router are read, how often, and which metrics their documents become.
 * Shipped modules and those of the configuration have the same format and pass the same checks before they become a
 * `ModuleDefinition`. Times are milliseconds.
 */
export type ModuleDefinition = Settled<Omit<WholeModule, IntervalKey> & Partial<Pick<WholeModule, IntervalKey>>> & {
  /** The module with the metrics that a router does not have; absent: it has all. They still read their fields. */
  readonly unfiltered?: ModuleDefinition | undefined;
};
type WholeModule = ReturnType<typeof toDefinition>;
type IntervalKey = 'intervalMs' | 'minIntervalMs' | 'reader';

/** A reading that is more than a mapping from one document to metrics; shipped modules only, and then without resources. */
export type ModuleReader = NonNullable<ModuleDefinition['reader']>;
/** One status resource, or a family of them. */
export type ResourceDefinition = ModuleDefinition['resources'][number];
/** One metric of a resource. */
export type MetricDefinition = ResourceDefinition['metrics'][number];
/**
 * Conversion of text to a number. If absent, the form is detected: a number with the declared unit, hexadecimal with `0x`, a
 * percentage (to a ratio), a duration (to seconds), a date (to Unix seconds in the router's zone). If given, only that
 * form is accepted, and a value of another known form is left to another metric.
 */
export type ValueForm = NonNullable<MetricDefinition['form']>;
/**
 * Texts that are a value in one row and mean "unknown" in another: 0 from a modem that is off is not a temperature. A
 * text in `values` gives no sample if each of `fields` present in the row holds one of its texts, is empty or is `---`.
 */
export type NullCondition = NonNullable<MetricDefinition['nullWhen']>;

/** Selects the row of another resource that belongs to a row. */
export type JoinDefinition = NonNullable<ResourceDefinition['join']>;
/** Routers that a part of a module is for. */
export type DeviceCondition = NonNullable<ResourceDefinition['when']>;

/** Converts the keys of a module. Resources with a missing required key already have a fault, and are left out. */
export function toDefinition(name: string, settings: ModuleSettings) {
  const { help = '', interval: intervalMs, min_interval: minIntervalMs, identity = false, reader } = settings;
  const resources = (settings.resources ?? []).flatMap(toResource);
  return { name, help, intervalMs, minIntervalMs, isIdentity: identity, resources, reader };
}

function toResource(resource: ResourceSettings) {
  if (!isWhole(resourceSchema, resource)) return [];
  const { optional: isOptional, labels = {}, metrics, ...same } = resource;
  return [{ ...same, isOptional, labels, metrics: metrics.map(toMetric) }];
}

function toMetric({ prefixes, null_values, null_when, state_label, labels = {}, ...same }: MetricKeys) {
  const hasBinaryPrefixes = prefixes === 'binary';
  // Set by the lists of metrics of a router.
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
