import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type KeepOutcome, ProfileArchive, type StoredVersion } from '../../src/backup/index.ts';
import { createSteppedClock, type SteppedClock } from '../../src/base/index.ts';

export const START_MS = Date.UTC(2026, 10, 21, 3, 0, 0);
export const ROUTER = 'plant-7';
export const PROFILE = 'Profile';

/** An archive in a folder of its own, on a clock that stands still. */
export interface ArchiveBench extends AsyncDisposable {
  readonly path: string;
  readonly clock: SteppedClock;
  readonly archive: ProfileArchive;
  /** The same folder as a new process finds it. */
  reopen(keep?: number): ProfileArchive;
  /** Keeps `content` as a version of {@link PROFILE}, a minute after the last one. */
  keep(content: Content, options?: { format?: 'binary' | 'ascii'; archive?: ProfileArchive }): Promise<KeepOutcome>;
  versions(archive?: ProfileArchive): Promise<readonly StoredVersion[]>;
  /** The folder of {@link PROFILE}. */
  folder(): Promise<string>;
  /** Names in that folder, in their order. */
  files(): Promise<readonly string[]>;
  manifest(): Promise<Record<string, unknown>>;
  writeManifest(change: (manifest: Record<string, unknown>) => unknown): Promise<void>;
}

type Content = string | Uint8Array | AsyncIterable<Uint8Array>;

export async function openArchive(keep = 3): Promise<ArchiveBench> {
  const path = await mkdtemp(join(tmpdir(), 'router-exporter-backup-'));
  const clock = createSteppedClock(START_MS);
  const reopen = (bound = keep) => new ProfileArchive({ path: join(path, 'backups'), keep: bound, clock });
  const archive = reopen();
  const folder = async () => {
    const router = join(path, 'backups', ROUTER);
    const name = (await readdir(router)).find((one) => one.startsWith(`${PROFILE}-`));
    return join(router, name ?? 'none');
  };
  const manifestFile = async () => join(await folder(), 'manifest.json');
  const manifest = async () => JSON.parse(await readFile(await manifestFile(), 'utf8')) as Record<string, unknown>;
  return {
    path: archive.path,
    clock,
    archive,
    reopen,
    folder,
    manifest,
    async keep(content, options = {}) {
      await clock.advance(60_000);
      const body = toBody(content);
      const { format = 'ascii', archive: chosen = archive } = options;
      return chosen.keep({ router: ROUTER, profile: PROFILE, format, reason: 'schedule', body });
    },
    versions: (chosen = archive) => chosen.listVersions(ROUTER, PROFILE),
    files: async () => (await readdir(await folder())).toSorted(),
    async writeManifest(change) {
      await writeFile(await manifestFile(), JSON.stringify(change(await manifest())));
    },
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}

function toBody(content: Content): AsyncIterable<Uint8Array> {
  return typeof content === 'string' || content instanceof Uint8Array ? inPieces(content) : content;
}

/** Bytes as they arrive: in pieces. */
export async function* inPieces(content: string | Uint8Array, pieceBytes = 7): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(content);
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
}

/** What was thrown, or `nothing`. */
export async function thrownBy(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => 'nothing',
    (cause: unknown) => cause,
  );
}

/** One file of a POSIX archive, as tar writes it. */
export function tarEntry(name: string, content: string, modifiedMs: number): Buffer {
  const header = Buffer.alloc(512);
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, '0');
  header.write(name, 0);
  header.write(`${octal(0o644, 7)}\0${octal(0, 7)}\0${octal(0, 7)}\0`, 100);
  header.write(`${octal(content.length, 11)}\0${octal(modifiedMs / 1000, 11)}\0`, 124);
  header.write('        0', 148);
  header.write('ustar\u000000', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${octal(sum, 6)}\0 `, 148);
  return Buffer.concat([header, Buffer.from(content), Buffer.alloc((512 - (content.length % 512)) % 512)]);
}
