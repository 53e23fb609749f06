import { access, constants, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../base/index.ts';
import { makeFolder, readFreeBytes, readNames, removeFile } from './disk.ts';
import { BackupError, toFileError } from './errors.ts';
import { type BackupFormat, type BackupReason, createManifest, type Manifest, type VersionRecord } from './manifest.ts';
import {
  ProfileFolder,
  type ReceivedFile,
  toFolderName,
  toRouterFolderName,
  type VersionState,
} from './profile-folder.ts';

interface ProfileArchiveOptions {
  readonly path: string;
  /** Maximum number of versions kept of one profile of one router; at least 1. */
  readonly keep: number;
  /** Maximum size of all kept versions of one router in bytes. Default: 256 MiB. */
  readonly routerBytesMax?: number | undefined;
  /** Its wall time names the versions. */
  readonly clock: Clock;
  /**
   * Returns the free bytes that backups may use on the disk of a folder. Default: all but the reserve for the state.
   */
  readonly readFreeBytes?: ((folder: string) => Promise<number>) | undefined;
}

interface KeepRequest {
  readonly router: string;
  readonly profile: string;
  readonly format: BackupFormat;
  readonly reason: BackupReason;
  readonly body: AsyncIterable<Uint8Array>;
}

/** Result of {@link ProfileArchive.keep}. */
export interface KeepOutcome {
  /** `unchanged`: the newest version has the same content, so the download was dropped. */
  readonly type: 'kept' | 'unchanged';
  readonly version: VersionRecord;
}

/** When a profile was last tried, and whether it is backed up since. */
export interface ProfileAttempt {
  readonly profile: string;
  /** Wall time in milliseconds since the Unix epoch. */
  readonly timeMs: number;
  readonly isSuccess: boolean;
}

/** A version whose file was checked. Only `good` ones can be read. */
export interface StoredVersion extends VersionRecord {
  /** 1 is the newest. */
  readonly number: number;
  readonly state: VersionState;
}

interface FolderState {
  readonly isOpenToOthers: boolean;
}

const NEVER = { timeMs: 0, isSuccess: false };
/** Maximum number of profiles of one router with a folder: a router that makes up names must not fill the disk. */
export const PROFILES_MAX = 100;
/**
 * Maximum size of all kept versions of one router, many times that of real ones: a router that makes up content must
 * not fill the disk. Bytes.
 */
const ROUTER_BYTES_MAX = 256 * 1024 * 1024;
/** Space for a manifest with its blocks. Bytes. */
const MANIFEST_BYTES = 64 * 1024;

/**
 * The kept versions of the routers' profiles: `<path>/<router>/<profile>/<time>-<checksum>.tar` or `.txt`. Names of
 * profiles come from routers and may be anything, so folder names are derived from them ({@link toFolderName}); the
 * manifest in each folder holds the full name. There is one writer per router at a time.
 */
export class ProfileArchive {
  readonly #options: ProfileArchiveOptions;
  /** Manifests that could not be written, by folder: a full disk must not hide that backups fail. */
  readonly #unsaved = new Map<string, Manifest>();

  constructor(options: ProfileArchiveOptions) {
    this.#options = options;
  }

  get path(): string {
    return this.#options.path;
  }

  /** Creates the folder if it is missing, and checks that it is writable. Throws {@link BackupError} `write`. */
  async prepare(): Promise<FolderState> {
    const { path } = this.#options;
    await makeFolder(path);
    try {
      await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
      return { isOpenToOthers: ((await stat(path)).mode & 0o077) !== 0 };
    } catch (cause) {
      throw toFileError('write', `The folder ${path} could not be used`, cause);
    }
  }

  /** Throws {@link BackupError} `write` if the disk has no room for another version of the router's largest profile. */
  async checkRoom(router: string): Promise<void> {
    const sizes = (await this.listProfiles(router)).map(({ versions }) => versions.at(-1)?.bytes ?? 0);
    await this.#checkDisk(Math.max(0, ...sizes));
  }

  async #checkDisk(bytes: number): Promise<void> {
    const { path } = this.#options;
    const freeBytes = await (this.#options.readFreeBytes ?? readFreeBytes)(path);
    if (freeBytes >= bytes + MANIFEST_BYTES) return;
    const what = `The disk of ${path} has no room for another version of a profile in addition to the space reserved for the state of the agent`;
    throw toFileError('write', what, undefined);
  }

  /**
   * Receives a download and keeps it unless the newest version has the same content, then removes the oldest versions
   * beyond the limits. Throws {@link BackupError}, or what the body throws; nothing has changed then.
   */
  async keep({ router, profile, format, reason, body }: KeepRequest): Promise<KeepOutcome> {
    const folder = this.#folderOf(router, profile);
    const former = await folder.open(router, profile);
    const received = await folder.receive(body, (bytes) => this.#checkDisk(bytes));
    const timeMs = this.#options.clock.now();
    const newest = former.versions.at(-1);
    const isUnchanged = newest && isSame(newest, received, format) && (await folder.check(newest)) === 'good';
    if (isUnchanged) await removeFile(received.part);
    const otherBytes = sumBytes(
      (await this.listProfiles(router)).flatMap((other) => (other.profile === profile ? [] : other.versions)),
    );
    const { keep, routerBytesMax = ROUTER_BYTES_MAX } = this.#options;
    if (!isUnchanged && otherBytes + received.bytes > routerBytesMax) {
      await removeFile(received.part);
      throw refuseVersion(router, routerBytesMax);
    }
    const version = isUnchanged ? newest : await folder.name(received, { timeMs, format, reason });
    // Content that returns after a change is a new version and replaces its old entry.
    const others = former.versions.filter((one) => !isSame(one, version, format));
    await this.#commit(folder, former, {
      ...former,
      lastAttempt: { timeMs, isSuccess: true },
      lastSuccessMs: timeMs,
      versions: cutVersions([...others, version], keep, routerBytesMax - otherBytes),
    });
    return { type: isUnchanged ? 'unchanged' : 'kept', version };
  }

  /** Records that a profile could not be backed up. Never throws: unsaved manifests stay in memory. */
  async recordFailure(router: string, profile: string): Promise<void> {
    const folder = this.#folderOf(router, profile);
    const lastAttempt = { timeMs: this.#options.clock.now(), isSuccess: false };
    let former = this.#unsaved.get(folder.path) ?? createManifest(router, profile);
    try {
      former = await folder.open(router, profile);
      await this.#commit(folder, former, { ...former, lastAttempt });
    } catch {
      this.#unsaved.set(folder.path, { ...former, lastAttempt });
    }
  }

  /** Records which profiles a router has; those it no longer has keep their versions. */
  async recordListed(router: string, profiles: ReadonlySet<string>): Promise<void> {
    for (const known of await this.listProfiles(router)) {
      const isListed = profiles.has(known.profile);
      if (known.isListed === isListed) continue;
      await this.#commit(this.#folderOf(router, known.profile), known, { ...known, isListed });
    }
  }

  /**
   * Records a profile before its first backup, so that {@link readLastAttempts} lists it even if that fails. Never
   * throws: the backup itself reports the failure.
   */
  async recordFound(router: string, profile: string): Promise<void> {
    const folder = this.#folderOf(router, profile);
    try {
      const manifest = await folder.open(router, profile);
      await this.#commit(folder, manifest, manifest);
    } catch {}
  }

  /** Returns the profiles of a router, ordered by name, without those whose manifest is damaged. */
  async listProfiles(router: string): Promise<readonly Manifest[]> {
    const byPath = new Map<string, Manifest>();
    for (const { path, manifest } of await this.#readFolders(router)) {
      if (manifest && manifest !== 'damaged' && manifest.router === router) byPath.set(path, manifest);
    }
    for (const [path, manifest] of this.#unsaved) if (manifest.router === router) byPath.set(path, manifest);
    return [...byPath.values()].toSorted((a, b) => (a.profile < b.profile ? -1 : 1));
  }

  async readLastAttempts(router: string): Promise<readonly ProfileAttempt[]> {
    return (await this.listProfiles(router)).flatMap(({ profile, isListed, lastAttempt = NEVER }) =>
      isListed ? { profile, ...lastAttempt } : [],
    );
  }

  /** Returns the folders whose manifest is damaged. The next backup of the profile rebuilds it from the files. */
  async listDamagedFolders(router: string): Promise<readonly string[]> {
    const folders = await this.#readFolders(router);
    return folders.filter(({ manifest }) => manifest === 'damaged').map(({ path }) => path);
  }

  /** Returns the versions of a profile, newest first, each checked against its file; none for an unknown profile. */
  async listVersions(router: string, profile: string): Promise<readonly StoredVersion[]> {
    const folder = this.#folderOf(router, profile);
    const manifest = await folder.readManifest();
    if (manifest === undefined || manifest === 'damaged') return [];
    const versions: StoredVersion[] = [];
    for (const [index, version] of manifest.versions.toReversed().entries()) {
      versions.push({ ...version, number: index + 1, state: await folder.check(version) });
    }
    return versions;
  }

  /** Returns the bytes of a version. Throws {@link BackupError} `damaged` if they do not match the manifest. */
  readVersion(router: string, profile: string, version: VersionRecord): Promise<Buffer> {
    return this.#folderOf(router, profile).readVersion(version);
  }

  async #commit(folder: ProfileFolder, former: Manifest, manifest: Manifest): Promise<void> {
    await folder.commit(manifest, former);
    this.#unsaved.delete(folder.path);
  }

  async #readFolders(router: string) {
    const path = this.#routerPath(router);
    // The folder may hold others that this program did not create.
    const names = (await readNames(path)).slice(0, 2 * PROFILES_MAX);
    const folders = names.map((name) => new ProfileFolder(join(path, name)));
    return Promise.all(folders.map(async (folder) => ({ path: folder.path, manifest: await folder.readManifest() })));
  }

  #routerPath(router: string): string {
    return join(this.#options.path, toRouterFolderName(router));
  }

  #folderOf(router: string, profile: string): ProfileFolder {
    return new ProfileFolder(join(this.#routerPath(router), toFolderName(profile)));
  }
}

function refuseVersion(router: string, bytesMax: number): BackupError {
  return new BackupError('too-large', `The kept profiles of router ${router} would take more than ${bytesMax} bytes`, {
    disposition: 'skip',
    hint: 'Delete the folders of profiles that are not needed below the folder of the router in backup.path',
  });
}

function cutVersions(versions: readonly VersionRecord[], keep: number, bytesMax: number): readonly VersionRecord[] {
  let kept = versions.slice(-keep);
  while (kept.length > 1 && sumBytes(kept) > bytesMax) kept = kept.slice(1);
  return kept;
}

function sumBytes(versions: readonly VersionRecord[]): number {
  return versions.reduce((sum, { bytes }) => sum + bytes, 0);
}

function isSame(
  version: VersionRecord,
  { contentSha256 }: Pick<ReceivedFile, 'contentSha256'>,
  format: BackupFormat,
): boolean {
  return version.format === format && version.contentSha256 === contentSha256;
}
