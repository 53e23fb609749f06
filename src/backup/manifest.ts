/** Format in which a profile is downloaded. */
export type BackupFormat = 'binary' | 'ascii';
/** Reason for a backup. */
export type BackupReason = 'schedule' | 'change';

/** One version of a profile, as recorded in the manifest. */
export interface VersionRecord {
  /** Name of the file in the profile's folder. */
  readonly file: string;
  /** Time of the download in milliseconds since the Unix epoch. */
  readonly timeMs: number;
  readonly bytes: number;
  /** Checksum of the file, in hexadecimal. */
  readonly sha256: string;
  /** Checksum that distinguishes versions; see {@link Digests.contentSha256}. */
  readonly contentSha256: string;
  readonly format: BackupFormat;
  /** `recovered`: an intact file was found without a record. */
  readonly reason: BackupReason | 'recovered';
}

/** Facts about a profile of a router besides its files. */
export interface Manifest {
  readonly router: string;
  /** The profile's full name; its folder shows only a part. */
  readonly profile: string;
  /** True if the router still has the profile. */
  readonly isListed: boolean;
  readonly lastAttempt: { readonly timeMs: number; readonly isSuccess: boolean } | undefined;
  /** Time at which the router's profile was last found to equal the newest version, in milliseconds since the Unix epoch. */
  readonly lastSuccessMs: number | undefined;
  /** Oldest first. */
  readonly versions: readonly VersionRecord[];
}

/** Name of the file that lists the versions of one folder. */
export const MANIFEST_FILE = 'manifest.json';
/** Version of the manifest's format; a higher one is from a later release and is not understood. */
const MANIFEST_VERSION = 1;
const EXTENSIONS = { binary: 'tar', ascii: 'txt' } as const;
const VERSION_FILE = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-([0-9a-f]{12})\.(tar|txt)$/;
const SHA256 = /^[0-9a-f]{64}$/;

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

/** Creates the manifest of a profile that nothing is known about. */
export function createManifest(router: string, profile: string): Manifest {
  return { router, profile, isListed: true, lastAttempt: undefined, lastSuccessMs: undefined, versions: [] };
}

/** Returns the manifest as the JSON text of its file. */
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
  try {
    return decodeManifest(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function decodeManifest(json: unknown): Manifest | undefined {
  const read = (name: string) => readField(json, name);
  const [router, profile, attempt, success, versions] = [
    read('router'),
    read('profile'),
    read('last_attempt'),
    read('last_success'),
    read('versions'),
  ];
  if (read('manifest') !== MANIFEST_VERSION || typeof router !== 'string' || typeof profile !== 'string')
    return undefined;
  if (!Array.isArray(versions)) return undefined;
  const records = versions.map(decodeVersion);
  if (!records.every((record) => record !== undefined)) return undefined;
  const attemptMs = parseTime(readField(attempt, 'time'));
  return {
    router,
    profile,
    isListed: read('listed') !== false,
    lastAttempt:
      attemptMs === undefined ? undefined : { timeMs: attemptMs, isSuccess: readField(attempt, 'success') === true },
    lastSuccessMs: parseTime(success),
    versions: records,
  };
}

function decodeVersion(json: unknown): VersionRecord | undefined {
  const read = (name: string) => readField(json, name);
  const [file, timeMs, bytes] = [read('file'), parseTime(read('time')), read('bytes')];
  const [sha256, contentSha256, reason] = [read('sha256'), read('content_sha256'), read('reason')];
  // A name edited to lead out of the folder is not the name of a version.
  const named = typeof file === 'string' ? parseVersionFile(file) : undefined;
  if (typeof file !== 'string' || !named || timeMs === undefined || !Number.isSafeInteger(bytes)) return undefined;
  if (!isSha256(sha256) || !isSha256(contentSha256)) return undefined;
  if (reason !== 'schedule' && reason !== 'change' && reason !== 'recovered') return undefined;
  return { file, timeMs, bytes: Number(bytes), sha256, contentSha256, format: named.format, reason };
}

function isSha256(value: unknown): value is string {
  return typeof value === 'string' && SHA256.test(value);
}

function readField(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined;
}

function renderTime(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

function parseTime(value: unknown): number | undefined {
  const timeMs = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(timeMs) ? undefined : timeMs;
}
