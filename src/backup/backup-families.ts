import type { FamilyDescription, MetricFamily } from '../model/index.ts';
import type { Manifest } from './manifest.ts';
import type { ProfileArchive } from './profile-archive.ts';

const LAST_SUCCESS: FamilyDescription = {
  name: 'router_backup_last_success_timestamp_seconds',
  help: 'Time at which the newest stored version of the profile was last confirmed to match the router.',
  type: 'gauge',
};
const SUCCESS: FamilyDescription = {
  name: 'router_backup_success',
  help: 'Whether the last backup of the profile succeeded. 0 without the label profile: no profile is known, because the router could not be asked or backup.path could not be read.',
  type: 'gauge',
};
const VERSIONS: FamilyDescription = {
  name: 'router_backup_versions',
  help: 'Number of stored versions of the profile.',
  type: 'gauge',
};

/** All families that {@link describeBackups} may return. */
export const BACKUP_FAMILIES: readonly FamilyDescription[] = [LAST_SUCCESS, SUCCESS, VERSIONS];

/** Returns the metrics of a router's backups, from their manifests on disk. Throws {@link BackupError} `read`. */
export async function describeBackups(archive: ProfileArchive, router: string): Promise<readonly MetricFamily[]> {
  const profiles = await archive.listProfiles(router);
  // A profile that the router no longer has keeps its versions, and nothing about it can be overdue.
  const listed = profiles.filter(({ isListed }) => isListed);
  return [
    toFamily(LAST_SUCCESS, listed, ({ lastSuccessMs }) => lastSuccessMs && lastSuccessMs / 1000),
    toFamily(SUCCESS, listed, ({ lastAttempt }) => lastAttempt && Number(lastAttempt.isSuccess)),
    toFamily(VERSIONS, profiles, ({ versions }) => versions.length),
  ];
}

/** Returns the metrics of a router whose backups fail before any profile is known: without them nobody would be told. */
export function describeUnknownBackups(): readonly MetricFamily[] {
  return BACKUP_FAMILIES.map((family) => ({
    ...family,
    samples: family === SUCCESS ? [{ labels: {}, value: 0 }] : [],
  }));
}

function toFamily(
  description: FamilyDescription,
  profiles: readonly Manifest[],
  toValue: (profile: Manifest) => number | undefined,
): MetricFamily {
  const samples = profiles.flatMap((kept) => {
    const value = toValue(kept);
    return value === undefined ? [] : [{ labels: { profile: kept.profile }, value }];
  });
  return { ...description, samples };
}
