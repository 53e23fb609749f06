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
import type { Digests } from './profile-body.ts';

export type VersionState = 'good' | 'damaged' | 'missing';

/** A complete download on disk that has no final name yet. */
export interface ReceivedFile extends Digests {
  readonly part: string;
}

/**
 * The folder of one profile of one router: the files of its versions, and the manifest that records them. Only recorded
 * versions count. A new version is written under a temporary name, flushed, renamed and then recorded; a version is
 * removed from the manifest before its file is removed. So a crash leaves at most an unrecorded file: a partial one,
 * which {@link open} removes, or a complete version, which it records.
 */
export class ProfileFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** Returns the manifest; `undefined` if there is none, `damaged` if it cannot be parsed. */
  async readManifest(): Promise<Manifest | 'damaged' | undefined> {
    const text = await readText(join(this.path, MANIFEST_FILE));
    return text === undefined ? undefined : (parseManifest(text) ?? 'damaged');
  }

  /** Creates the folder if it is missing, and makes the manifest consistent with its files. */
  async open(router: string, profile: string): Promise<Manifest> {
    await makeFolder(this.path);
    const found = await this.readManifest();
    const manifest = found === undefined || found === 'damaged' ? createManifest(router, profile) : found;
    if (manifest.router !== router || manifest.profile !== profile) {
      throw new BackupError('write', `The folder ${this.path} is that of another router or profile`, {
        disposition: 'operator',
        hint: 'Give every agent a backup.path of its own, on a file system that distinguishes capital and small letters',
      });
    }
    const versions = [...manifest.versions];
    const recorded = new Set(versions.map(({ file }) => file));
    for (const name of await readNames(this.path)) {
      const path = join(this.path, name);
      if (name.endsWith(PART)) await removeFile(path);
      const named = recorded.has(name) ? undefined : parseVersionFile(name);
      const digests = named && (await digestFile(path));
      // A file that does not match its name stays for inspection and is not recorded.
      if (!named || !digests?.sha256.startsWith(named.sha256Start)) continue;
      const isKnown = versions.some(({ contentSha256 }) => contentSha256 === digests.contentSha256);
      if (isKnown) await removeFile(path);
      else versions.push({ file: name, ...digests, timeMs: named.timeMs, format: named.format, reason: 'recovered' });
    }
    if (versions.length === manifest.versions.length) return manifest;
    return { ...manifest, versions: versions.toSorted((a, b) => a.timeMs - b.timeMs) };
  }

  /** Receives a download into a temporary file; see {@link writeDownload}. */
  async receive(body: AsyncIterable<Uint8Array>, checkRoom: (bytes: number) => Promise<void>): Promise<ReceivedFile> {
    const part = toPartFile(join(this.path, 'download'));
    return { part, ...(await writeDownload(part, body, checkRoom)) };
  }

  /** Renames a received file to a version. It counts once a manifest that lists it is {@link commit}ted. */
  async name(
    { part, ...digests }: ReceivedFile,
    version: Pick<VersionRecord, 'timeMs' | 'format' | 'reason'>,
  ): Promise<VersionRecord> {
    const file = renderVersionFile(version.timeMs, digests.sha256, version.format);
    await moveFile(part, join(this.path, file));
    return { file, ...digests, ...version };
  }

  /** Replaces the manifest, then removes the files of versions that are only in `former`. */
  async commit(manifest: Manifest, former: Manifest): Promise<void> {
    await replaceFile(join(this.path, MANIFEST_FILE), renderManifest(manifest));
    const kept = new Set(manifest.versions.map(({ file }) => file));
    for (const { file } of former.versions) if (!kept.has(file)) await removeFile(join(this.path, file));
  }

  async check(version: VersionRecord): Promise<VersionState> {
    const digests = await digestFile(join(this.path, version.file));
    if (digests?.sha256 === version.sha256) return 'good';
    return (await readNames(this.path)).includes(version.file) ? 'damaged' : 'missing';
  }

  /** Returns the bytes of a version. Throws {@link BackupError} `damaged` if they do not match the manifest. */
  async readVersion(version: VersionRecord): Promise<Buffer> {
    const path = join(this.path, version.file);
    const bytes = await readBytes(path);
    if (bytes && createHash('sha256').update(bytes).digest('hex') === version.sha256) return bytes;
    throw new BackupError('damaged', `The file ${path} is damaged: its checksum does not match`, {
      disposition: 'operator',
      hint: 'Take another version; the next backup downloads this one again if the router still has it',
    });
  }
}

/** Everything but letters, digits, underscore and dash, which are safe on all file systems. */
const UNSAFE = /[^A-Za-z0-9_-]+/g;
const SHOWN_LENGTH_MAX = 40;
/** Hexadecimal digits of the checksum: 64 bits, so that collisions cannot be found by trial. */
const HASH_LENGTH = 16;
/** Names that are safe as folder names. A leading dot would hide the folder. */
const PLAIN = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/;

/**
 * Returns a folder name for any name: its safe characters and a checksum of the whole name, unique on case-insensitive
 * file systems too. The result never leads to another folder, is never a reserved name and has at most 57 characters.
 */
export function toFolderName(name: string): string {
  const shown = name.replaceAll(UNSAFE, '_').slice(0, SHOWN_LENGTH_MAX);
  // As JSON: all lone surrogates have the same UTF-8 encoding.
  const hash = createHash('sha256').update(JSON.stringify(name)).digest('hex').slice(0, HASH_LENGTH);
  return `${shown || '_'}-${hash}`;
}

/** Returns the folder name of a router: its configured name if that is safe, otherwise as {@link toFolderName}. */
export function toRouterFolderName(router: string): string {
  return PLAIN.test(router) ? router : toFolderName(router);
}
