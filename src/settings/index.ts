/**
 * settings: the vocabulary with which every module writes the schema of its own section. (`config` uses these schemas to load the
 * configuration of this program.)
 *
 * Owns: kinds of values (durations, sizes, names, addresses, secrets), maps of keys and their variants, defaults, files that settings
 * refer to, YAML with the position of every key, and faults with file, line and column.
 * Does not own: any setting (its module has the schema), the list of files and their merging (config).
 * Start reading at: schema/values.ts for schemas, source/check-settings.ts for the check of a file.
 *
 *   schema/  values.ts, names.ts, addresses.ts (kinds of values), parts.ts (maps and variants), connection-keys.ts, secret-keys.ts
 *   source/  config-file.ts (a file and its faults), parse-source.ts, positions.ts, parse-data.ts (YAML), yaml-thread.ts,
 *            yaml-worker.ts (long files), check-settings.ts (check against a schema), fault.ts
 *   files/   text-file.ts, pattern-files.ts (globs), named-files.ts, secret-keeper.ts (files and commands that settings refer to)
 */
export { type Filled, NamedFileReader, renderFileFault } from './files/named-files.ts';
export { listMatches, type MatchedFiles, readDigest, readPatternFiles } from './files/pattern-files.ts';
export { type SecretEvent, SecretKeeper, type SecretKeeperOptions, type SecretKind } from './files/secret-keeper.ts';
export {
  describeExcessRights,
  describeFailure,
  readFileStamp,
  readTextFile,
  type TextFile,
} from './files/text-file.ts';
export {
  describeHost,
  describeUrl,
  type ListenAddress,
  listenAddress,
  parseListenAddress,
  parsePlainUrl,
  parseRouterUrl,
  renderListenAddress,
  routerUrl,
  webUrl,
} from './schema/addresses.ts';
export {
  type ClientTls,
  headersShape,
  isToken,
  isUnverified,
  revealTls,
  type TlsSettings,
  tlsSection,
  token,
} from './schema/connection-keys.ts';
export {
  filePatterns,
  findNameFault,
  findNearest,
  globs,
  help,
  LABEL_CHARS_MAX,
  labelName,
  METRIC_LABELS_MAX,
  metricName,
  name,
  nameList,
  sets,
  timeZone,
  toFamilyName,
} from './schema/names.ts';
export {
  areSameSettings,
  inheritable,
  isWhole,
  listLeaves,
  orDefaults,
  renderKeys,
  renderSettingsHash,
  type Settled,
  type SoundOf,
  toComparable,
} from './schema/parts.ts';
export {
  type About,
  absolutePath,
  byteBudget,
  byteSize,
  byteSizeWithin,
  certificates,
  checked,
  choice,
  codec,
  DURATION_MS_MIN,
  duration,
  durationOrNone,
  flag,
  moment,
  parsed,
  parseMoment,
  renderByteSize,
  secret,
  secretOf,
  secretPath,
  secretShape,
  section,
  TEXT_CHARS_MAX,
  text,
  unsupported,
  wholeNumber,
  withContent,
  withSecrecy,
} from './schema/values.ts';
export { checkItem, checkSettings, type Environment } from './source/check-settings.ts';
export {
  CONFIG_FILE_BYTES_MAX,
  type ConfigFile,
  ConfigFiles,
  compileAt,
  findSecretForm,
  isWritten,
  type Place,
  type RootExpected,
  refuseBoth,
  refuseSecretForms,
  renderPlace,
} from './source/config-file.ts';
export { type ConfigFault, describeFault, FaultList, type KeyPath, renderFault } from './source/fault.ts';
export type { DataRoot } from './source/parse-data.ts';
export { YAML_ITEMS_MAX } from './source/parse-source.ts';
export { YamlThread } from './source/yaml-thread.ts';
