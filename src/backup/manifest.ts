/** What a profile is downloaded as. */
export type BackupFormat = 'binary' | 'ascii';
/** Why a backup is made. */
export type BackupReason = 'schedule' | 'change';

/** One version of a profile, as its record says. */
export interface VersionRecord {
  /** Name of the file in the profile's folder. */
  readonly file: string;
  /** When it was downloaded. Milliseconds since the Unix epoch. */
  readonly timeMs: number;
  readonly bytes: number;
  /** Checksum of the file, in hexadecimal. */
  readonly sha256: string;
  /** Checksum by which versions are told apart; see {@link Digests.contentSha256}. */
  readonly contentSha256: string;
  readonly format: BackupFormat;
  /** `recovered`: the file was found without a record, whole. */
  readonly reason: BackupReason | 'recovered';
}

/** What is known about a profile of a router beside its files. */
export interface Manifest {
  readonly router: string;
  /** The profile's name, which its folder shows only in part. */
  readonly profile: string;
  /** Whether the router still has it. */
  readonly isListed: boolean;
  readonly lastAttempt: { readonly timeMs: number; readonly isSuccess: boolean } | undefined;
  /** When the newest version was last found to be what the router has. Milliseconds since the Unix epoch. */
  readonly lastSuccessMs: number | undefined;
  /** Oldest first. */
  readonly versions: readonly VersionRecord[];
}

export const MANIFEST_FILE = 'manifest.json';
/** Of the file's layout; a higher one is from a later release and is not understood. */
const MANIFEST_VERSION = 1;
const EXTENSIONS = { binary: 'tar', ascii: 'txt' } as const;
const VERSION_FILE = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-([0-9a-f]{12})\.(tar|txt)$/;
const SHA256 = /^[0-9a-f]{64}$/;

/** The file of a version: UTC to the second, the beginning of the checksum, and an ending that says the format. */
export function renderVersionFile(timeMs: number, sha256: string, format: BackupFormat): string {
  const stamp = new Date(timeMs).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  return `${stamp}-${sha256.slice(0, 12)}.${EXTENSIONS[format]}`;
}

/** What the name of a version's file says; `undefined` for every other file. */
export function parseVersionFile(
  file: string,
): { readonly timeMs: number; readonly sha256Start: string; readonly format: BackupFormat } | undefined {
  const match = VERSION_FILE.exec(file);
  if (!match) return undefined;
  const [, year, month, day, hour, minute, second, sha256Start = '', extension] = match;
  const timeMs = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(timeMs) ? undefined : { timeMs, sha256Start, format: extension === 'tar' ? 'binary' : 'ascii' };
}

/** The record of a profile that nothing is known about. */
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

/** Reads what {@link renderManifest} wrote; `undefined` when the text is anything else. */
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
  // A name that was edited into a way out of the folder is no name of a version.
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
