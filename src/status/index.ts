/**
 * status: what a router reports about itself.
 *
 * Owns: modules (shipped ones in modules/*.yaml) and how they turn documents into metric families; which resources of a
 * router are read in a poll, what the router lacks, and how long values are valid; proposed modules and masking for
 * what no module reads.
 * Does not own: how a resource is fetched, when to poll, how families are rendered, and the reading and checking of
 * YAML.
 * Start reading at: poller.ts, mapping/compile-modules.ts, values/parse-value.ts, discovery/discover-modules.ts.
 */
export {
  CONFIG_CHANGES,
  CONFIG_ENTRIES,
  ConfigurationReader,
  type ConfigurationSource,
} from './configuration-reader.ts';
export type { DocumentSource, ReaderContext, ReaderReading, StatusReader } from './contracts.ts';
export { type AskedRouter, askResources, type ResourceAnswer } from './discovery/ask-resources.ts';
export {
  type DiscoveredField,
  type Discovery,
  discoverModules,
} from './discovery/discover-modules.ts';
export { DocumentMasker } from './discovery/document-masker.ts';
export { renderModules, renderName, renderNames, toModuleSettings } from './discovery/render-modules.ts';
export { readDevice, readSerialNumber, readSystemWallMs } from './known-fields.ts';
export { createLogFilesReader } from './log-files-reader.ts';
export {
  type CompiledResource,
  compileModules,
  type MappingContext,
} from './mapping/compile-modules.ts';
export { mergeMappings } from './mapping/family-collector.ts';
export type { JoinTable } from './mapping/join.ts';
export { MAPPING_FAULT_REASONS, type MappingFault } from './mapping/mapping-fault.ts';
export { MODULE_RESOURCES_MAX, MODULES_MAX, RESOURCE_METRICS_MAX } from './module-settings/bounds.ts';
export type { PlacedFamily } from './module-settings/check-families.ts';
export { type MetricFilter, metricFilterSchema } from './module-settings/metric-filter.ts';
export type { MetricDefinition, ModuleDefinition, ValueForm } from './module-settings/module-definition.ts';
export { type AgentFamily, ModuleRegistry } from './module-settings/module-registry.ts';
export { DEFAULT_SET, moduleListSchema, modulesSchema } from './module-settings/module-schema.ts';
export {
  type LoadedModules,
  loadShippedModules,
  readListedModules,
  readShippedModules,
  SHIPPED_MODULES_FOLDER,
} from './module-settings/shipped-modules.ts';
export { createPollPlan, type PollPlan, type PollTarget } from './poll-plan.ts';
export type { PollResult, ResourceResult } from './poll-result.ts';
export { type PollSettings, pollSchema, resolvePoll } from './poll-settings.ts';
export { type PollOptions, StatusPoller, type StatusPollerOptions } from './poller.ts';
export { readTarget, type TargetReading } from './read-target.ts';
export { SilenceCount } from './silence-count.ts';
export { expandPath, STATUS_PATHS } from './status-paths.ts';
