import { createHash } from 'node:crypto';
import { join } from 'node:path';
import {
  digestFile,
  makeFolder,
  moveFile,
  PART,
  readBytes,
  readNames,
  readText,
  removeFile,
  replaceFile,
  toPartFile,
  writeDownload,
} from './disk.ts';
import { BackupError } from './errors.ts';
import type { Digests } from './file-digest.ts';
import {
  createManifest,
  MANIFEST_FILE,
  type Manifest,
  parseManifest,
  parseVersionFile,
  renderManifest,
  renderVersionFile,
  type VersionRecord,
} from './manifest.ts';

/** What the file of a version is, held against its record. */
export type VersionState = 'good' | 'damaged' | 'missing';

/** A download that is whole on disk and has no name yet. */
export interface ReceivedFile extends Digests {
  readonly part: string;
}

/**
 * The folder of one profile of one router: the files of its versions, and a manifest that records them.
 *
 * A version counts when the manifest says so. A new one is written beside, flushed, renamed and then recorded; what is
 * removed is first taken out of the record. So a crash leaves at most a file that the manifest does not know: a part,
 * which {@link open} removes, or a whole version, which it records.
 */
export class ProfileFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** The manifest; `undefined` when there is none, `damaged` when it cannot be understood. */
  async readManifest(): Promise<Manifest | 'damaged' | undefined> {
    const text = await readText(join(this.path, MANIFEST_FILE));
    return text === undefined ? undefined : (parseManifest(text) ?? 'damaged');
  }

  /** Makes the folder when it is missing, and its manifest true to its files. */
  async open(router: string, profile: string): Promise<Manifest> {
    await makeFolder(this.path);
    const found = await this.readManifest();
    const manifest = found === undefined || found === 'damaged' ? createManifest(router, profile) : found;
    if (manifest.router !== router || manifest.profile !== profile) {
      throw new BackupError('write', `The folder ${this.path} is that of another router or profile`, {
        disposition: 'operator',
        hint: 'Give every agent a backup.path of its own, on a file system that tells capital letters from small ones',
      });
    }
    const versions = [...manifest.versions];
    const recorded = new Set(versions.map(({ file }) => file));
    for (const name of await readNames(this.path)) {
      const path = join(this.path, name);
      if (name.endsWith(PART)) await removeFile(path);
      const named = recorded.has(name) ? undefined : parseVersionFile(name);
      const digests = named && (await digestFile(path));
      // One that is not what its name says stays, for a person to look at, and never counts.
      if (!named || !digests?.sha256.startsWith(named.sha256Start)) continue;
      const isKnown = versions.some(({ contentSha256 }) => contentSha256 === digests.contentSha256);
      if (isKnown) await removeFile(path);
      else versions.push({ file: name, ...digests, timeMs: named.timeMs, format: named.format, reason: 'recovered' });
    }
    if (versions.length === manifest.versions.length) return manifest;
    return { ...manifest, versions: versions.toSorted((a, b) => a.timeMs - b.timeMs) };
  }

  /** Receives a download into a file that is no version yet. */
  async receive(body: AsyncIterable<Uint8Array>): Promise<ReceivedFile> {
    const part = toPartFile(join(this.path, 'download'));
    return { part, ...(await writeDownload(part, body)) };
  }

  /** Makes a received file a version. It counts when the manifest that names it is {@link commit}ted. */
  async name(
    { part, ...digests }: ReceivedFile,
    version: Pick<VersionRecord, 'timeMs' | 'format' | 'reason'>,
  ): Promise<VersionRecord> {
    const file = renderVersionFile(version.timeMs, digests.sha256, version.format);
    await moveFile(part, join(this.path, file));
    return { file, ...digests, ...version };
  }

  /** Replaces the manifest, then removes the files of the versions that `former` has and it has not. */
  async commit(manifest: Manifest, former: Manifest): Promise<void> {
    await replaceFile(join(this.path, MANIFEST_FILE), renderManifest(manifest));
    const kept = new Set(manifest.versions.map(({ file }) => file));
    for (const { file } of former.versions) if (!kept.has(file)) await removeFile(join(this.path, file));
  }

  /** Whether the file of a version is what its record says. */
  async check(version: VersionRecord): Promise<VersionState> {
    const digests = await digestFile(join(this.path, version.file));
    if (digests?.sha256 === version.sha256) return 'good';
    return (await readNames(this.path)).includes(version.file) ? 'damaged' : 'missing';
  }

  /** The bytes of a version. Throws {@link BackupError} `damaged` when they are not what its record says. */
  async readVersion(version: VersionRecord): Promise<Buffer> {
    const path = join(this.path, version.file);
    const bytes = await readBytes(path);
    if (bytes && createHash('sha256').update(bytes).digest('hex') === version.sha256) return bytes;
    throw new BackupError('damaged', `The file ${path} is not what was kept: its checksum does not fit`, {
      disposition: 'operator',
      hint: 'Take another version; the next backup downloads this one again if the router still has it',
    });
  }
}
