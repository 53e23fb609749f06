/**
 * backup: stored profiles of the routers, kept on disk.
 *
 * Owns: the folder of kept versions with their checksums and manifests, one backup of a router, when backups are due,
 * their metrics, the comparison of two versions.
 * Does not own: the connection to the router, the timers that wait for a due time.
 * Start reading at: back-up-once.ts, then profile-archive.ts.
 */
export {
  BACKUP_FAMILIES,
  type BackupEvent,
  backUpOnce,
  describeBackups,
  describeUnknownBackups,
  type ProfileSource,
} from './back-up-once.ts';
export { type Comparison, compareKeys, compareVersions } from './compare-versions.ts';
export { BackupError } from './errors.ts';
export type { BackupFormat, Manifest } from './manifest.ts';
export { type KeepOutcome, ProfileArchive, type ProfileAttempt, type StoredVersion } from './profile-archive.ts';
export { checkProfile } from './profile-body.ts';
export { BackupCalendar, type BackupSettings, backupSchema, readBackup } from './settings.ts';
