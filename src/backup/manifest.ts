import { z } from 'zod';
import { parseJson } from '../base/index.ts';

/** Format in which a profile is downloaded. */
export type BackupFormat = 'binary' | 'ascii';
export type BackupReason = 'schedule' | 'change';

/** One version of a profile, as recorded in the manifest. */
export interface VersionRecord {
  readonly file: string;
  /** Time of the download in milliseconds since the Unix epoch. */
  readonly timeMs: number;
  readonly bytes: number;
  readonly sha256: string;
  readonly contentSha256: string;
  readonly format: BackupFormat;
  /** `recovered`: an intact file was found without a record. */
  readonly reason: BackupReason | 'recovered';
}

/** What the manifest of a profile records. */
export interface Manifest {
  readonly router: string;
  /** Full name; the name of the folder has only a part of it. */
  readonly profile: string;
  readonly isListed: boolean;
  readonly lastAttempt: { readonly timeMs: number; readonly isSuccess: boolean } | undefined;
  /**
   * Time at which the router's profile was last found to equal the newest version, in milliseconds since the Unix
   * epoch.
   */
  readonly lastSuccessMs: number | undefined;
  /** Oldest first. */
  readonly versions: readonly VersionRecord[];
}

export const MANIFEST_FILE = 'manifest.json';
/** A higher format version is from a later release and is not understood. */
const MANIFEST_VERSION = 1;
const EXTENSIONS = { binary: 'tar', ascii: 'txt' } as const;
const VERSION_FILE = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-([0-9a-f]{12})\.(tar|txt)$/;
const SHA256 = /^[0-9a-f]{64}$/;

const time = z.string().transform(Date.parse).refine(Number.isFinite);

const versionSchema = z
  .object({
    // Rejects names edited to lead out of the folder.
    file: z.string().refine((file) => parseVersionFile(file) !== undefined),
    time,
    bytes: z.int(),
    sha256: z.string().regex(SHA256),
    content_sha256: z.string().regex(SHA256),
    reason: z.enum(['schedule', 'change', 'recovered']),
  })
  .transform(({ time: timeMs, content_sha256: contentSha256, ...same }): VersionRecord => {
    return { ...same, timeMs, contentSha256, format: parseVersionFile(same.file)?.format ?? 'binary' };
  });

/** An invalid time counts as no attempt: the next backup makes one. */
const manifestSchema = z
  .object({
    manifest: z.literal(MANIFEST_VERSION),
    router: z.string(),
    profile: z.string(),
    listed: z.unknown().optional(),
    last_attempt: z.object({ time, success: z.unknown().optional() }).optional().catch(undefined),
    last_success: time.optional().catch(undefined),
    versions: z.array(versionSchema),
  })
  .transform(({ router, profile, listed, last_attempt: last, last_success: lastSuccessMs, versions }): Manifest => {
    const lastAttempt = last && { timeMs: last.time, isSuccess: last.success === true };
    return { router, profile, isListed: listed !== false, lastAttempt, lastSuccessMs, versions };
  });

/**
 * Returns the file name of a version: UTC to the second, the first digits of the checksum, and an extension for the
 * format.
 */
export function renderVersionFile(timeMs: number, sha256: string, format: BackupFormat): string {
  const stamp = new Date(timeMs).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  return `${stamp}-${sha256.slice(0, 12)}.${EXTENSIONS[format]}`;
}

/** Parses the file name of a version; `undefined` for every other file. */
export function parseVersionFile(
  file: string,
): { readonly timeMs: number; readonly sha256Start: string; readonly format: BackupFormat } | undefined {
  const match = VERSION_FILE.exec(file);
  if (!match) return undefined;
  const [, year, month, day, hour, minute, second, sha256Start = '', extension] = match;
  const timeMs = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(timeMs) ? undefined : { timeMs, sha256Start, format: extension === 'tar' ? 'binary' : 'ascii' };
}

export function createManifest(router: string, profile: string): Manifest {
  return { router, profile, isListed: true, lastAttempt: undefined, lastSuccessMs: undefined, versions: [] };
}

export function renderManifest(manifest: Manifest): string {
  const { router, profile, isListed, lastAttempt, lastSuccessMs, versions } = manifest;
  const json = {
    manifest: MANIFEST_VERSION,
    router,
    profile,
    listed: isListed,
    last_attempt: lastAttempt && { time: renderTime(lastAttempt.timeMs), success: lastAttempt.isSuccess },
    last_success: lastSuccessMs === undefined ? undefined : renderTime(lastSuccessMs),
    versions: versions.map(({ timeMs, contentSha256, ...version }) => ({
      ...version,
      content_sha256: contentSha256,
      time: renderTime(timeMs),
    })),
  };
  return `${JSON.stringify(json, null, 2)}\n`;
}

/** Parses the text written by {@link renderManifest}; `undefined` for any other text. */
export function parseManifest(text: string): Manifest | undefined {
  return manifestSchema.safeParse(parseJson(text)).data;
}

function renderTime(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
