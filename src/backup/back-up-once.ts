import { DeadlineExceeded } from '../base/index.ts';
import { SourceError } from '../model/index.ts';
import { BackupError } from './errors.ts';
import type { BackupFormat, BackupReason } from './manifest.ts';
import { PROFILES_MAX, type ProfileArchive } from './profile-archive.ts';

/**
 * The stored profiles of one router. Throws `SourceError`, with `isAnswered` if the router works and rejected only this request,
 * and with the code `budget` if its bytes of the day are used up.
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
      /** A new version was kept. */
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

/** One router, the folder of its versions and how many of them stay. */
interface BackupOptions {
  /** Configured name of the router. */
  readonly router: string;
  /** Downloads the router's profiles. */
  readonly source: ProfileSource;
  /** Stores the versions. */
  readonly archive: ProfileArchive;
  /** Format in which profiles are downloaded. */
  readonly format: BackupFormat;
  /** Reason recorded with new versions. */
  readonly reason: BackupReason;
  /** Returns true for profiles to download, false for those that this backup leaves alone. Default: all. */
  readonly isWanted?: ((profile: string) => boolean) | undefined;
  /** Called for every profile, with what was done. */
  readonly report: (event: BackupEvent) => void;
}

/** Number of the router's profiles by outcome. */
interface BackupResult {
  readonly kept: number;
  readonly unchanged: number;
  readonly failed: number;
}

/** Maximum length of a profile's name in characters; devices allow far fewer. */
const NAME_LENGTH_MAX = 256;
/**
 * A single profile may fail on its own. After this many failures in a row the router or the disk is unavailable, and
 * the rest is not tried.
 */
const SETBACKS_MAX = 2;

/**
 * Downloads every wanted profile of a router once and keeps those that have changed. A failed profile does not affect
 * the others. Nothing is asked while the disk has no room for another version. Rejects with the source's error if the router is
 * unavailable, with {@link BackupError} `write` or `read` if the disk is, and with the signal's reason. Profiles not tried by then
 * count as failed, unless the agent is shutting down: only a deadline is a failure of the backup.
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
      await noteFailures(options, [profile], cause);
      counts.failed++;
      setbacks = isAlone(cause) ? 0 : setbacks + 1;
      if (!signal.aborted && setbacks < SETBACKS_MAX && !isPutOff(cause)) continue;
      await noteFailures(options, profiles.names.slice(position + 1), cause);
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

/**
 * Returns the profiles that the router has and that may have a folder. If the list cannot be read, every known profile
 * has failed.
 */
async function listProfiles(
  options: BackupOptions,
  signal: AbortSignal,
): Promise<{ readonly names: readonly string[]; readonly refused: number }> {
  const { router, source, archive, isWanted = () => true } = options;
  const known = await archive.listProfiles(router);
  try {
    await archive.checkRoom(router);
    const names = new Set((await source.listProfiles(signal)).map(({ name }) => name));
    await archive.noteListed(router, names);
    const before = new Set(known.map(({ profile }) => profile));
    const folders = new Set(before);
    const wanted = [...names].filter((name) => isWanted(name));
    const admitted = wanted.filter((name) => admit(options, name, folders));
    for (const name of admitted) if (!before.has(name)) await archive.noteFound(router, name);
    return { names: admitted, refused: wanted.length - admitted.length };
  } catch (cause) {
    throwIfEnded(signal);
    const expected = known
      .filter(({ profile, isListed }) => isListed && isWanted(profile))
      .map(({ profile }) => profile);
    await noteFailures(options, expected, cause);
    throw cause;
  }
}

/**
 * Returns true if a profile has a folder or may have one; otherwise reports it as failed and leaves no trace on disk.
 */
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

async function noteFailures(options: BackupOptions, profiles: readonly string[], cause: unknown): Promise<void> {
  const { router, archive, report } = options;
  for (const profile of profiles) {
    await archive.noteFailure(router, profile);
    report({ type: 'profile-failed', router, profile, cause });
  }
}

/** Throws if the agent is shutting down: that says nothing about a backup. */
function throwIfEnded(signal: AbortSignal): void {
  if (!(signal.reason instanceof DeadlineExceeded)) signal.throwIfAborted();
}

/** Returns true if nothing more may be asked now: the router wants requests to be delayed, or the byte budget is used up. */
function isPutOff(cause: unknown): boolean {
  return cause instanceof SourceError && (cause.retryAfterMs !== undefined || cause.code === 'budget');
}

/** Returns true if the failure concerns only this profile: the router answered, and the data could be written. */
function isAlone(cause: unknown): boolean {
  if (cause instanceof BackupError) return cause.code !== 'write' && cause.code !== 'read';
  return cause instanceof SourceError && cause.isAnswered && !isPutOff(cause);
}
