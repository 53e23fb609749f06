import { access, constants, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../base/index.ts';
import { makeFolder, readNames, removeFile } from './disk.ts';
import { toFileError } from './errors.ts';
import { toFolderName, toRouterFolderName } from './folder-name.ts';
import { type BackupFormat, type BackupReason, createManifest, type Manifest, type VersionRecord } from './manifest.ts';
import { ProfileFolder, type ReceivedFile, type VersionState } from './profile-folder.ts';

export interface ProfileArchiveOptions {
  /** Folder of all backups. */
  readonly path: string;
  /** Most versions of one profile of one router that are kept, from 1. */
  readonly keep: number;
  readonly clock: Clock;
}

/** A download to be kept. */
export interface KeepRequest {
  readonly router: string;
  readonly profile: string;
  readonly format: BackupFormat;
  readonly reason: BackupReason;
  readonly body: AsyncIterable<Uint8Array>;
}

/** What became of a download. */
export interface KeepOutcome {
  /** `unchanged`: the newest version says the same, so the download was dropped. */
  readonly type: 'kept' | 'unchanged';
  /** The newest version now. */
  readonly version: VersionRecord;
}

/** A profile as its record says it, without a look at the files. */
export type KeptProfile = Manifest;

/** A version whose file was looked at. Only `good` ones can be read. */
export interface StoredVersion extends VersionRecord {
  /** 1 is the newest. */
  readonly number: number;
  readonly state: VersionState;
}

/** What the folder of all backups is like. */
export interface FolderState {
  /** Whether other users of the machine can look into it. */
  readonly isOpenToOthers: boolean;
}

/** Most profiles of one router that have a folder: a router that makes up names cannot fill the disk with them. */
export const PROFILES_MAX = 100;

/**
 * The kept versions of the routers' profiles: `<path>/<router>/<profile>/<time>-<checksum>.tar` or `.txt`.
 *
 * The names of folders are made from the names of profiles, which come from routers and may be anything
 * ({@link toFolderName}); the manifest in each folder holds the true name. One writer per router at a time.
 */
export class ProfileArchive {
  readonly #options: ProfileArchiveOptions;
  /** Records that could not be written, by folder: a full disk must not hide that backups fail. */
  readonly #unsaved = new Map<string, Manifest>();

  constructor(options: ProfileArchiveOptions) {
    this.#options = options;
  }

  get path(): string {
    return this.#options.path;
  }

  /** Makes the folder when it is missing, and sees whether it can be written to. Throws {@link BackupError} `write`. */
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

  /**
   * Receives a download, and keeps it unless the newest version says the same. Then the oldest versions beyond the bound
   * go. Throws {@link BackupError}, or what the body throws; nothing has changed then.
   */
  async keep({ router, profile, format, reason, body }: KeepRequest): Promise<KeepOutcome> {
    const folder = this.#folderOf(router, profile);
    const former = await folder.open(router, profile);
    const received = await folder.receive(body);
    const timeMs = this.#options.clock.now();
    const newest = former.versions.at(-1);
    const isUnchanged = newest && isSame(newest, received, format) && (await folder.check(newest)) === 'good';
    if (isUnchanged) await removeFile(received.part);
    const version = isUnchanged ? newest : await folder.name(received, { timeMs, format, reason });
    // What comes back after a change is a new version, and its old place is no distinct one any more.
    const others = former.versions.filter((one) => !isSame(one, version, format));
    await this.#commit(folder, former, {
      ...former,
      lastAttempt: { timeMs, isSuccess: true },
      lastSuccessMs: timeMs,
      versions: [...others, version].slice(-this.#options.keep),
    });
    return { type: isUnchanged ? 'unchanged' : 'kept', version };
  }

  /** Records that a profile could not be backed up. Never throws: what cannot be written is remembered. */
  async noteFailure(router: string, profile: string): Promise<void> {
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

  /** Records which profiles a router has; those that it has no longer keep their versions. */
  async noteListed(router: string, profiles: ReadonlySet<string>): Promise<void> {
    for (const known of await this.listProfiles(router)) {
      const isListed = profiles.has(known.profile);
      if (known.isListed === isListed) continue;
      await this.#commit(this.#folderOf(router, known.profile), known, { ...known, isListed });
    }
  }

  /** The profiles of a router, in the order of their names. Those whose record is damaged are left out. */
  async listProfiles(router: string): Promise<readonly KeptProfile[]> {
    const byPath = new Map<string, Manifest>();
    for (const { path, manifest } of await this.#readFolders(router)) {
      if (manifest && manifest !== 'damaged' && manifest.router === router) byPath.set(path, manifest);
    }
    for (const [path, manifest] of this.#unsaved) if (manifest.router === router) byPath.set(path, manifest);
    return [...byPath.values()].toSorted((a, b) => (a.profile < b.profile ? -1 : 1));
  }

  /** When a backup of the router was last tried, in milliseconds since the Unix epoch; `undefined` when none ever was. */
  async readLastAttemptMs(router: string): Promise<number | undefined> {
    const attempts = (await this.listProfiles(router)).flatMap(({ lastAttempt }) => lastAttempt?.timeMs ?? []);
    return attempts.length > 0 ? Math.max(...attempts) : undefined;
  }

  /** Folders of profiles whose record is damaged. The next backup of the profile makes it anew from the files. */
  async listDamagedFolders(router: string): Promise<readonly string[]> {
    const folders = await this.#readFolders(router);
    return folders.filter(({ manifest }) => manifest === 'damaged').map(({ path }) => path);
  }

  /** The versions of a profile, newest first, each compared with its file; none of a profile that is not known. */
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

  /** The bytes of a version. Throws {@link BackupError} `damaged` when they are not what its record says. */
  readVersion(router: string, profile: string, version: VersionRecord): Promise<Buffer> {
    return this.#folderOf(router, profile).readVersion(version);
  }

  async #commit(folder: ProfileFolder, former: Manifest, manifest: Manifest): Promise<void> {
    await folder.commit(manifest, former);
    this.#unsaved.delete(folder.path);
  }

  async #readFolders(router: string) {
    const path = this.#routerPath(router);
    // Beside the folders that are ours there may be what a person has put there.
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

/** Whether a version says what another file says, in the same form. */
function isSame(
  version: VersionRecord,
  { contentSha256 }: Pick<ReceivedFile, 'contentSha256'>,
  format: BackupFormat,
): boolean {
  return version.format === format && version.contentSha256 === contentSha256;
}
