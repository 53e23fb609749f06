/**
 * settings: the vocabulary in which rooms say what can be configured.
 *
 * Owns: kinds of values (durations, sizes, names, addresses, secrets), maps of keys and their variants, defaults, files that settings refer
 * to, YAML with the position of every key, and faults with file, line and column.
 * Does not own: any setting (its module has the schema), the list of files and their merging (config).
 * Start reading at: values.ts for schemas, check-settings.ts for the check of a file.
 */
export { checkSettings } from './check-settings.ts';
export {
  CONFIG_FILE_BYTES_MAX,
  type ConfigFile,
  ConfigFiles,
  isWritten,
  type Place,
  refuseBoth,
  renderPlace,
} from './config-file.ts';
export { inheritable, orDefaults, renderKeys, type Settled } from './defaults.ts';
export { type ConfigFault, type KeyPath, renderFault } from './fault.ts';
export { listMatches, readDigest } from './file-patterns.ts';
export type { Environment } from './fill-in.ts';
export { type ListenAddress, parseListenAddress, renderListenAddress } from './listen-address.ts';
export {
  findNameFault,
  help,
  LABEL_CHARS_MAX,
  labelName,
  METRIC_LABELS_MAX,
  metricName,
  toFamilyName,
} from './metric-names.ts';
export { NamedFileReader, renderFileFault, type SecretKind, type TlsFiles } from './named-files.ts';
export { findNearest } from './nearest.ts';
export type { RootExpected } from './parse-source.ts';
export { type MatchedFiles, readPatternFiles } from './pattern-files.ts';
export {
  byteBudget,
  byteSize,
  byteSizeWithin,
  DURATION_MS_MIN,
  duration,
  durationOrNone,
  renderByteSize,
  wholeNumber,
} from './quantities.ts';
export { withSecrecy } from './secrecy.ts';
export { isWhole, type SoundOf } from './sound.ts';
export { describeFailure, readTextFile, type TextFile } from './text-file.ts';
export { type ClientTls, readTls, renderTls, revealTls, type TlsSettings, tlsSection, toTlsSettings } from './tls.ts';
export {
  type About,
  asSecret,
  checked,
  choice,
  codec,
  filePatterns,
  flag,
  globs,
  listenAddress,
  name,
  parsed,
  parsePlainUrl,
  parseRouterUrl,
  routerUrl,
  secret,
  secretPath,
  section,
  TEXT_CHARS_MAX,
  text,
  timeZone,
  unsupported,
} from './values.ts';
