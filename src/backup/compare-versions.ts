import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff';
import { compareNaturally, renderMany } from '../base/index.ts';
import { BackupError } from './errors.ts';
import type { BackupFormat } from './manifest.ts';
import type { ProfileArchive, StoredVersion } from './profile-archive.ts';

/** A comparison of two versions of a profile. */
export interface Comparison {
  readonly profile: string;
  readonly from: StoredVersion;
  readonly to: StoredVersion;
  readonly isEqual: boolean;
  /** Unified diff, empty if there are no differences; absent if the versions cannot be compared line by line. */
  readonly diff: string | undefined;
}

/** Numbers of the versions to compare; default: the newest two that can be compared. */
interface VersionChoice {
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

const CONTEXT_LINES = 3;
/** Beyond this time in milliseconds the texts count as too different. */
const COMPARISON_MS_MAX = 10_000;

/**
 * Compares two kept versions of a profile; returns a reason if there are no two. Damaged versions are skipped unless
 * they are requested. Throws {@link BackupError} `damaged` or `too-different`.
 */
export async function compareVersions(
  archive: ProfileArchive,
  router: string,
  profile: string,
  choice: VersionChoice,
): Promise<Comparison | string> {
  const pair = choosePair(await archive.listVersions(router, profile), choice);
  if (typeof pair === 'string') return pair;
  const [from, to] = pair;
  const [before, after] = [
    await archive.readVersion(router, profile, from),
    await archive.readVersion(router, profile, to),
  ];
  const isText = from.format === 'ascii' && to.format === 'ascii';
  const diff = isText ? renderDiff(toText(profile, from, before), toText(profile, to, after)) : undefined;
  return { profile, from, to, isEqual: before.equals(after), diff };
}

/** Versions larger than this are not compared in the process that polls. Bytes. */
const KEYS_BYTES_MAX = 512 * 1024;
const KEYS_MAX = 500;
/** In lower case, with a dot or an index: lines of certificates, keys and hashes are not taken for one. */
const KEY = /^[a-z][a-z0-9_-]{0,39}(?:\.[a-z0-9_-]{1,40}|\[\d{1,6}\]){1,12}=/;

/**
 * Compares a kept version of a profile with the one before. Returns the keys of lines that were removed and added, without their values,
 * which may be secrets, and nothing of other lines; or a reason. Throws {@link BackupError} `damaged`.
 */
export async function compareKeys(archive: ProfileArchive, router: string, profile: string, to: number) {
  // Listing versions would read all of them.
  const { versions = [] } = (await archive.listProfiles(router)).find((one) => one.profile === profile) ?? {};
  const [older, newer] = [versions.at(-to - 1), versions.at(-to)];
  if (!older || !newer) return `there is no version ${to + 1}; ${versions.length} are kept`;
  const pair = [older, newer];
  if (pair.some(({ format, bytes }) => format !== 'ascii' || bytes > KEYS_BYTES_MAX))
    return 'only versions of the format ascii, of 512 KiB at most, are compared on this page';
  const texts = await Promise.all(pair.map((version) => archive.readVersion(router, profile, version)));
  const [before, after] = texts.map((bytes) => new Set(bytes.toString('utf8').split('\n')));
  const findKeys = (sign: string, lines = new Set<string>(), others = new Set<string>()) =>
    [...lines.difference(others)].map((line) => `${sign} ${KEY.exec(line)?.[0] ?? ''}…`);
  const changes = [...findKeys('-', before, after), ...findKeys('+', after, before)];
  const shown = changes.slice(0, KEYS_MAX).toSorted((a, b) => compareNaturally(a.slice(1), b.slice(1)));
  if (changes.length > KEYS_MAX) shown.push(`and ${renderMany(changes.length - KEYS_MAX, 'more line')}`);
  return shown.join('\n') || 'no key and no value differs';
}

function choosePair(
  versions: readonly StoredVersion[],
  { from, to }: VersionChoice,
): readonly [StoredVersion, StoredVersion] | string {
  if (from !== undefined || to !== undefined) {
    const numbers = [from ?? (to ?? 1) + 1, to ?? 1];
    const [older, newer] = numbers.map((wanted) => versions.find(({ number }) => number === wanted));
    if (older && newer) return [older, newer];
    return `there is no version ${numbers[older ? 1 : 0]}; ${versions.length} are kept`;
  }
  const good = versions.filter(({ state }) => state === 'good');
  const ofFormat = (format: BackupFormat) => good.filter((version) => version.format === format);
  const [newer, older] = ofFormat('ascii').length > 1 ? ofFormat('ascii') : ofFormat('binary');
  if (newer && older) return [older, newer];
  const damaged = versions.length - good.length;
  return `there are no two versions to compare${damaged > 0 ? `; ${damaged} of ${versions.length} are damaged` : ''}`;
}

interface LabelledText {
  readonly label: string;
  readonly text: string;
}

function toText(profile: string, { number, timeMs }: StoredVersion, bytes: Buffer): LabelledText {
  const label = `${profile.replaceAll(/\p{Cc}/gu, '?')} ${number} ${new Date(timeMs).toISOString()}`;
  return { label, text: bytes.toString('utf8') };
}

function renderDiff(before: LabelledText, after: LabelledText): string {
  if (before.text === after.text) return '';
  const patch = createTwoFilesPatch(before.label, after.label, before.text, after.text, undefined, undefined, {
    context: CONTEXT_LINES,
    timeout: COMPARISON_MS_MAX,
    headerOptions: FILE_HEADERS_ONLY,
  });
  if (patch !== undefined) return patch;
  throw new BackupError('too-different', `${before.label} and ${after.label} differ too much to be compared`, {
    disposition: 'skip',
  });
}
