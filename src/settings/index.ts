/**
 * settings: the vocabulary in which modules say what can be configured.
 *
 * Owns: kinds of values (durations, sizes, names, addresses, secrets), maps of keys and their variants, defaults, files that settings refer
 * to, YAML with the position of every key, and faults with file, line and column.
 * Does not own: any setting (its module has the schema), the list of files and their merging (config).
 * Start reading at: schema/values.ts for schemas, source/check-settings.ts for the check of a file.
 *
 *   schema/  kinds of values and names, valid parts of a map, defaults
 *   source/  a file as text: parsing, positions, environment, check against its schema, faults
 *   files/   files that settings refer to, and the section `tls`
 */
export { areSameSettings, toComparable } from './comparable.ts';
export { describeExcessRights } from './files/file-rights.ts';
export { type Filled, NamedFileReader, renderFileFault } from './files/named-files.ts';
export { listMatches, type MatchedFiles, readDigest, readPatternFiles } from './files/pattern-files.ts';
export { type SecretEvent, SecretKeeper, type SecretKeeperOptions, type SecretKind } from './files/secret-keeper.ts';
export { findSecretForm, refuseSecretForms, secretShape } from './files/secret-keys.ts';
export { describeFailure, readFileStamp, readTextFile, type TextFile } from './files/text-file.ts';
export { type ClientTls, isUnverified, revealTls, type TlsSettings, tlsSection } from './files/tls-settings.ts';
export { describeHost, describeUrl } from './schema/describe-url.ts';
export { headersShape, isToken, token } from './schema/http-headers.ts';
export {
  filePatterns,
  findNameFault,
  globs,
  help,
  LABEL_CHARS_MAX,
  type ListenAddress,
  labelName,
  listenAddress,
  METRIC_LABELS_MAX,
  metricName,
  name,
  nameList,
  parseListenAddress,
  parsePlainUrl,
  parseRouterUrl,
  renderListenAddress,
  routerUrl,
  sets,
  timeZone,
  toFamilyName,
  webUrl,
} from './schema/names.ts';
export { findNearest } from './schema/nearest.ts';
export {
  inheritable,
  isWhole,
  listLeaves,
  orDefaults,
  renderKeys,
  type Settled,
  type SoundOf,
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
  removed,
  renderByteSize,
  secret,
  secretOf,
  secretPath,
  section,
  TEXT_CHARS_MAX,
  text,
  unsupported,
  wholeNumber,
  withContent,
  withSecrecy,
} from './schema/values.ts';
export { checkItem, checkSettings } from './source/check-settings.ts';
export { compileAt } from './source/compile-at.ts';
export {
  CONFIG_FILE_BYTES_MAX,
  type ConfigFile,
  ConfigFiles,
  isWritten,
  type Place,
  type RootExpected,
  refuseBoth,
  renderPlace,
} from './source/config-file.ts';
export type { Environment } from './source/environment.ts';
export { type ConfigFault, describeFault, type KeyPath, renderFault } from './source/fault.ts';
export { FaultList } from './source/fault-list.ts';
export type { DataRoot } from './source/parse-data.ts';
export { YAML_ITEMS_MAX } from './source/parse-source.ts';
export { YamlThread } from './source/yaml-thread.ts';
