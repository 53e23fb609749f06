import { styleText } from 'node:util';
import {
  type Comparison,
  checkProfile,
  compareVersions,
  type Manifest,
  ProfileArchive,
  type StoredVersion,
} from '../backup/index.ts';
import { createSystemClock, renderErrorChain, toPrintable } from '../base/index.ts';
import { writeBody } from './api.ts';
import { type CommandIo, EXIT, type ExitCode, renderJson, renderTable, writeResult } from './support/io.ts';
import { type ConfigFlags, readConfig, refuseConfig, withRouter } from './support/read-config.ts';

/** `profiles list`: lists the stored profiles of a router. */
export function listProfiles(
  flags: ConfigFlags & { readonly router: string; readonly json?: boolean | undefined },
  io: CommandIo,
): Promise<ExitCode> {
  return withRouter(flags, io, async ({ client }) => {
    const profiles = await client.listProfiles(io.signal);
    const rows = profiles.map(({ name, lastActivated, modified }) => [
      name,
      renderFlag(lastActivated),
      renderFlag(modified),
    ]);
    await writeResult(
      flags.json ? renderJson(profiles) : renderTable(['PROFILE', 'LAST ACTIVATED', 'MODIFIED'], rows),
      io,
    );
    return EXIT.done;
  });
}

/** `profiles download`: saves a stored profile atomically, with mode 0600, because it contains secrets. */
export function downloadProfile(
  flags: ConfigFlags & {
    readonly router: string;
    readonly profile: string;
    readonly output: string;
    readonly format?: 'binary' | 'ascii' | undefined;
  },
  io: CommandIo,
): Promise<ExitCode> {
  return withRouter(flags, io, async ({ client }) => {
    const { profile, output, format } = flags;
    await client.downloadProfile(
      profile,
      { ...(format && { format }) },
      (body) => writeBody(checkProfile(body), output, io),
      io.signal,
    );
    io.stderr.write(`Wrote ${output}. It contains secrets of the router: keep it private.\n`);
    return EXIT.done;
  });
}

function renderFlag(flag: boolean | undefined): string {
  return flag === undefined ? '?' : flag ? 'yes' : 'no';
}

interface KeptFlags extends ConfigFlags {
  /** It need not be configured any more. */
  readonly router: string;
  readonly json?: boolean | undefined;
}

export interface DiffFlags extends KeptFlags {
  /** Default: every profile with versions. */
  readonly profile?: string | undefined;
  /** Number of the older version; 1 is the newest. Default: the newest two versions that can be compared. */
  readonly from?: number | undefined;
  /** Number of the newer version. Default: as for `from`. */
  readonly to?: number | undefined;
}

/**
 * `profiles versions`: lists the backed-up versions of a router's profiles, without contacting it. Damaged ones give
 * exit code 1.
 */
export function listVersions(flags: KeptFlags, io: CommandIo): Promise<ExitCode> {
  return withArchive(flags, io, async (archive, profiles) => {
    const rows: (readonly [string, StoredVersion])[] = [];
    for (const { profile } of profiles) {
      for (const version of await archive.listVersions(flags.router, profile)) rows.push([profile, version]);
    }
    const header = ['PROFILE', 'NUMBER', 'TIME (UTC)', 'FORMAT', 'BYTES', 'SHA-256', 'REASON', 'STATE'];
    const cells = rows.map(([profile, version]) => {
      const { number, bytes, sha256, format, reason, state } = version;
      return [profile, String(number), renderTime(version), format, String(bytes), sha256.slice(0, 12), reason, state];
    });
    const json = rows.map(([profile, version]) => ({ profile, ...toJson(version) }));
    await writeResult(flags.json ? renderJson(json) : renderTable(header, cells), io);
    return rows.every(([, { state }]) => state === 'good') ? EXIT.done : EXIT.failed;
  });
}

/**
 * `profiles diff`: prints the changes between two backed-up versions as a unified diff, without contacting a router.
 * Exit code 0 with and without differences.
 */
export function diffProfiles(flags: DiffFlags, io: CommandIo): Promise<ExitCode> {
  return withArchive(flags, io, async (archive, profiles) => {
    const { router } = flags;
    const chosen = profiles.filter(({ profile }) => flags.profile === undefined || profile === flags.profile);
    if (chosen.length === 0) {
      const names = profiles.map(({ profile }) => JSON.stringify(profile)).join(', ');
      io.stderr.write(`No versions of profile ${JSON.stringify(flags.profile)} of ${router}; available: ${names}\n`);
      return EXIT.failed;
    }
    if (io.stderr.isTTY) io.stderr.write('The lines of a profile may contain secrets of the router.\n');
    const isChosen = flags.from !== undefined || flags.to !== undefined;
    const comparisons: Comparison[] = [];
    let exitCode: ExitCode = EXIT.done;
    for (const { profile } of chosen) {
      const comparison = await compareVersions(archive, router, profile, flags);
      if (typeof comparison !== 'string') comparisons.push(comparison);
      else {
        io.stderr.write(`${toPrintable(profile)}: ${comparison}\n`);
        if (isChosen) exitCode = EXIT.failed;
      }
    }
    const json = comparisons.map(({ profile, from, to, isEqual, diff }) => {
      return { profile, from: toJson(from), to: toJson(to), equal: isEqual, diff: diff ?? null };
    });
    const text = comparisons.map((comparison) => renderComparison(comparison, io)).join('');
    await writeResult(flags.json ? renderJson(json) : text, io);
    return exitCode;
  });
}

/** Reports missing profiles and failures on stderr. */
async function withArchive(
  flags: KeptFlags,
  io: CommandIo,
  work: (archive: ProfileArchive, profiles: readonly Manifest[]) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { 'config.file': configFile, router } = flags;
  const loaded = await readConfig(flags);
  if (!loaded.ok) return refuseConfig(loaded, io);
  const { backup } = loaded.config;
  if (!backup) {
    io.stderr.write(`${configFile} has no section backup, so there are no versions\n`);
    return EXIT.usage;
  }
  try {
    const archive = new ProfileArchive({ path: backup.path, keep: backup.keep, clock: createSystemClock() });
    for (const folder of await archive.listDamagedFolders(router)) {
      io.stderr.write(`The manifest in ${folder} is damaged; the next backup rebuilds it from the files\n`);
    }
    const profiles = await archive.listProfiles(router);
    if (profiles.length > 0) return await work(archive, profiles);
    const isKnown = loaded.config.routers.some(({ name }) => name === router);
    const unknown = isKnown ? '' : `, and ${configFile} has no router of this name`;
    io.stderr.write(`No versions of profiles of ${JSON.stringify(router)} in ${backup.path}${unknown}\n`);
  } catch (cause) {
    io.stderr.write(`${router}: ${renderErrorChain(cause)}\n`);
  }
  return EXIT.failed;
}

function renderComparison({ profile, from, to, isEqual, diff }: Comparison, io: CommandIo): string {
  const name = toPrintable(profile);
  if (isEqual) return `${name}: no differences between version ${from.number} and version ${to.number}\n`;
  if (diff === undefined) {
    const lines = [from, to].map((version) => {
      const { number, format, bytes, sha256 } = version;
      return `  ${number}  ${renderTime(version)}  ${format}  ${bytes} bytes  sha256 ${sha256}\n`;
    });
    return `${name}: the versions differ; only ascii can be compared line by line (backup.format)\n${lines.join('')}`;
  }
  if (!io.stdout.isTTY) return diff;
  return diff
    .split('\n')
    .map((line) => paint(line, io))
    .join('\n');
}

const COLOURS: Readonly<Record<string, 'green' | 'red' | 'cyan'>> = { '+': 'green', '-': 'red', '@': 'cyan' };

function paint(line: string, { stdout }: CommandIo): string {
  const colour = COLOURS[line[0] ?? ''];
  const text = toPrintable(line);
  return colour ? styleText(colour, text, { stream: stdout }) : text;
}

function renderTime({ timeMs }: StoredVersion): string {
  return new Date(timeMs).toISOString().replace(/\.\d+/, '');
}

function toJson(version: StoredVersion): object {
  const { number, file, bytes, sha256, format, reason, state } = version;
  return { number, time: renderTime(version), format, bytes, sha256, reason, state, file };
}
