import { DeadlineExceeded } from '../base/index.ts';
import { type FamilyDescription, type MetricFamily, RouterReadError } from '../model/index.ts';
import { BackupError } from './errors.ts';
import type { BackupFormat, BackupReason, Manifest } from './manifest.ts';
import { PROFILES_MAX, type ProfileArchive } from './profile-archive.ts';

/**
 * The stored profiles of one router. Throws `RouterReadError`, with `isAnswered` if the router rejected only this request,
 * and with the code `budget` if its daily bytes are used up.
 */
export interface ProfileSource {
  listProfiles(signal: AbortSignal): Promise<readonly { readonly name: string }[]>;
  /** Passes the body to `consume` as it arrives. A truncated body ends with an error. */
  downloadProfile<T>(
    name: string,
    options: { readonly format: BackupFormat },
    consume: (body: AsyncIterable<Uint8Array>) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T>;
}

/** Result of the backup of one profile or one router. */
export type BackupEvent =
  | {
      readonly type: 'profile-kept';
      readonly router: string;
      readonly profile: string;
      readonly reason: BackupReason;
      readonly file: string;
      readonly bytes: number;
      readonly sha256: string;
    }
  | { readonly type: 'profile-unchanged'; readonly router: string; readonly profile: string }
  | { readonly type: 'profile-failed'; readonly router: string; readonly profile: string; readonly cause: unknown };

interface BackupOptions {
  readonly router: string;
  readonly source: ProfileSource;
  readonly archive: ProfileArchive;
  readonly format: BackupFormat;
  readonly reason: BackupReason;
  /** Selects the profiles to download. Default: all. */
  readonly isWanted?: ((profile: string) => boolean) | undefined;
  readonly report: (event: BackupEvent) => void;
}

interface BackupResult {
  readonly kept: number;
  readonly unchanged: number;
  readonly failed: number;
}

/** Maximum length of a profile's name in characters; devices allow far fewer. */
const NAME_LENGTH_MAX = 256;
/** After this many failures in a row the router or the disk is unavailable, and the rest is not tried. */
const SETBACKS_MAX = 2;

/**
 * Downloads every wanted profile of a router once and keeps those that have changed. Nothing is requested while the
 * disk is full. Rejects with the source's error if the router is unavailable, with {@link BackupError} `write` or
 * `read` if the disk is, and with the signal's reason. Profiles not tried by then count as failed, unless the agent is
 * shutting down: only a deadline is a failure of the backup.
 */
export async function backUpOnce(options: BackupOptions, signal: AbortSignal): Promise<BackupResult> {
  const profiles = await listProfiles(options, signal);
  const counts = { kept: 0, unchanged: 0, failed: profiles.refused };
  let setbacks = 0;
  for (const [position, profile] of profiles.names.entries()) {
    try {
      counts[await backUpProfile(options, profile, signal)]++;
      setbacks = 0;
    } catch (cause) {
      throwIfEnded(signal);
      await recordFailures(options, [profile], cause);
      counts.failed++;
      setbacks = isAlone(cause) ? 0 : setbacks + 1;
      if (!signal.aborted && setbacks < SETBACKS_MAX && !isPutOff(cause)) continue;
      await recordFailures(options, profiles.names.slice(position + 1), cause);
      throw cause;
    }
  }
  return counts;
}

async function backUpProfile(
  options: BackupOptions,
  profile: string,
  signal: AbortSignal,
): Promise<'kept' | 'unchanged'> {
  const { router, source, archive, format, reason, report } = options;
  const { type, version } = await source.downloadProfile(
    profile,
    { format },
    (body) => archive.keep({ router, profile, format, reason, body }),
    signal,
  );
  const { file, bytes, sha256 } = version;
  if (type === 'kept') report({ type: 'profile-kept', router, profile, reason, file, bytes, sha256 });
  else report({ type: 'profile-unchanged', router, profile });
  return type;
}

async function listProfiles(
  options: BackupOptions,
  signal: AbortSignal,
): Promise<{ readonly names: readonly string[]; readonly refused: number }> {
  const { router, source, archive, isWanted = () => true } = options;
  const known = await archive.listProfiles(router);
  try {
    await archive.checkRoom(router);
    const names = new Set((await source.listProfiles(signal)).map(({ name }) => name));
    await archive.recordListed(router, names);
    const before = new Set(known.map(({ profile }) => profile));
    const folders = new Set(before);
    const wanted = [...names].filter((name) => isWanted(name));
    const admitted = wanted.filter((name) => admit(options, name, folders));
    for (const name of admitted) if (!before.has(name)) await archive.recordFound(router, name);
    return { names: admitted, refused: wanted.length - admitted.length };
  } catch (cause) {
    throwIfEnded(signal);
    const expected = known
      .filter(({ profile, isListed }) => isListed && isWanted(profile))
      .map(({ profile }) => profile);
    await recordFailures(options, expected, cause);
    throw cause;
  }
}

/** A profile without a folder that may not have one is reported as failed and leaves no trace on disk. */
function admit({ router, report }: BackupOptions, profile: string, folders: Set<string>): boolean {
  if (folders.has(profile)) return true;
  const cause = findRefusal(profile, folders.size);
  if (cause) report({ type: 'profile-failed', router, profile: profile.slice(0, NAME_LENGTH_MAX), cause });
  else folders.add(profile);
  return cause === undefined;
}

function findRefusal(profile: string, folders: number): BackupError | undefined {
  if (profile === '' || profile.length > NAME_LENGTH_MAX) {
    const what = `The name of a profile is empty or longer than ${NAME_LENGTH_MAX} characters`;
    return new BackupError('bad-name', what, { disposition: 'skip' });
  }
  if (folders < PROFILES_MAX) return undefined;
  return new BackupError('too-many', `No more than ${PROFILES_MAX} profiles of one router are kept`, {
    disposition: 'operator',
    hint: 'Remove the folders of profiles that the router no longer has',
  });
}

async function recordFailures(options: BackupOptions, profiles: readonly string[], cause: unknown): Promise<void> {
  const { router, archive, report } = options;
  for (const profile of profiles) {
    await archive.recordFailure(router, profile);
    report({ type: 'profile-failed', router, profile, cause });
  }
}

/** A shutdown is not a failure of the backup. */
function throwIfEnded(signal: AbortSignal): void {
  if (!(signal.reason instanceof DeadlineExceeded)) signal.throwIfAborted();
}

/** The router asked for a delay, or the byte budget is used up: no further requests. */
function isPutOff(cause: unknown): boolean {
  return cause instanceof RouterReadError && (cause.retryAfterMs !== undefined || cause.code === 'budget');
}

/** The failure concerns only this profile: the router answered, and the data could be written. */
function isAlone(cause: unknown): boolean {
  if (cause instanceof BackupError) return cause.code !== 'write' && cause.code !== 'read';
  return cause instanceof RouterReadError && cause.isAnswered && !isPutOff(cause);
}

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
  // A profile that the router no longer has keeps its versions and cannot be overdue.
  const listed = profiles.filter(({ isListed }) => isListed);
  return [
    toFamily(LAST_SUCCESS, listed, ({ lastSuccessMs }) => lastSuccessMs && lastSuccessMs / 1000),
    toFamily(SUCCESS, listed, ({ lastAttempt }) => lastAttempt && Number(lastAttempt.isSuccess)),
    toFamily(VERSIONS, profiles, ({ versions }) => versions.length),
  ];
}

/** Returns the metrics of a router whose backups fail before any profile is known, so that alerts see the failure. */
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
