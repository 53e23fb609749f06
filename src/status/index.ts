/**
 * status: what a router reports about itself.
 *
 * Owns: modules (shipped ones in modules/*.yaml) and the mapping of documents to metric families; which resources a poll reads, which
 * ones the router does not have, and how long values are valid; proposed modules and masking for fields that no module reads.
 * Does not own: how a resource is fetched, when to poll, how families are rendered, and the reading and checking of YAML.
 * Start reading at: poller/poller.ts, mapping/compile-modules.ts, values/parse-value.ts, discovery/discover-modules.ts.
 *
 *   modules/          shipped modules
 *   module-settings/  schema, checks and registry of modules
 *   values/           from a text to a number
 *   mapping/          from a document to metric families: rows, labels, values
 *   poller/           one poll: which resources are due, what the router lacks, and the reading of each
 *   discovery/        proposed modules for what no module reads, and masking of documents
 */
export { CONFIG_EXPECTED, ComplianceReader, type ExpectedValue, expectSchema } from './compliance.ts';
export {
  CONFIG_CHANGES,
  CONFIG_ENTRIES,
  CONFIGURATION_LISTS,
  ConfigurationReader,
  type ConfigurationSource,
} from './configuration-reader.ts';
export {
  type AskedRouter,
  askResources,
  type Discovery,
  discoverModules,
} from './discovery/discover-modules.ts';
export { DocumentMasker } from './discovery/document-masker.ts';
export { renderModules, renderName, renderNames, toModuleSettings } from './discovery/render-modules.ts';
export { countNewerVersions, type FirmwareVersion, readFirmwareVersions } from './firmware-versions.ts';
export { GENERIC_ROWS, GENERIC_VALUE, GenericReader } from './generic-reader.ts';
export { readDevice, readRouterTime, readSerialNumber, TIME_RESOURCE, toRouterTime } from './known-fields.ts';
export { createLogFilesReader } from './log-files-reader.ts';
export {
  type CompiledResource,
  compileModules,
  type MappingContext,
  mapDocument,
} from './mapping/compile-modules.ts';
export type { MappingFault } from './mapping/family-collector.ts';
export type { JoinTable } from './mapping/labels.ts';
export { MODULE_RESOURCES_MAX, MODULES_MAX, RESOURCE_METRICS_MAX } from './module-settings/grammar.ts';
export { filterModules, type MetricFilter, metricFilterSchema } from './module-settings/metric-filter.ts';
export { type AgentFamily, ModuleRegistry, nameOrigins, type PlacedFamily } from './module-settings/module-registry.ts';
export {
  DEFAULT_SET,
  type MetricDefinition,
  type ModuleDefinition,
  moduleListSchema,
  modulesSchema,
  toDefinition,
  type ValueForm,
} from './module-settings/module-schema.ts';
export {
  loadShippedModules,
  readListedModules,
  readShippedModules,
  SHIPPED_MODULES_FOLDER,
} from './module-settings/shipped-modules.ts';
export { type PollSettings, pollSchema, resolvePoll } from './poll-settings.ts';
export {
  type DocumentSource,
  type ReaderContext,
  type ReaderReading,
  readTarget,
  SilenceCount,
  type StatusReader,
  type TargetReading,
} from './poller/ask.ts';
export { createPollPlan, type PollPlan, type PollTarget } from './poller/poll-plan.ts';
export type { ResourceResult } from './poller/poll-state.ts';
export { type PollResult, StatusPoller } from './poller/poller.ts';
export { expandPath, STATUS_PATHS } from './status-paths.ts';
