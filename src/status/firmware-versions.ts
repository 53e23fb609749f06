import { z } from 'zod';
import type { Sample } from '../model/index.ts';
import {
  CONFIG_FILE_BYTES_MAX,
  type ConfigFile,
  type ConfigFiles,
  checked,
  checkSettings,
  choice,
  type Environment,
  isWhole,
  type MatchedFiles,
  type RootExpected,
  readPatternFiles,
  section,
  text,
} from '../settings/index.ts';
import { compareFirmware } from './mapping/device-condition.ts';

/** Each is a series of the agent. */
const VERSIONS_MAX = 100;
const VERSION_CHARS_MAX = 32;
const VERSION = 'a version in quotes, such as "9.5"';
const VERSIONS = `a list of at most ${VERSIONS_MAX} versions such as '- version: "9.5"'`;
/** Of all files together. */
const BOUNDS = { filesMax: 10, bytesMax: CONFIG_FILE_BYTES_MAX };
/** The mildest first. */
const SEVERITIES = ['info', 'warning', 'critical'] as const;

const versionSchema = section('One firmware version.', {
  version: checked(
    { description: 'The version.' },
    VERSION,
    VERSION_CHARS_MAX,
    (one) => compareFirmware(one, one) === 0,
  ),
  date: text({ description: 'Date of its release.' }).optional(),
  notes: text({ description: 'What is new.' }).optional(),
  severity: choice({ description: 'How urgent an update to it is.' }, SEVERITIES).prefault('info'),
});

const fileSchema = section('Firmware versions.', {
  versions: z.array(versionSchema, { error: VERSIONS }).max(VERSIONS_MAX, { error: VERSIONS }),
});

/** A firmware version that the operator has listed. */
export type FirmwareVersion = z.output<typeof versionSchema>;

const ROOT: RootExpected = {
  kind: 'map',
  expected: 'a map with the key "versions:"',
  ifEmpty: 'write "versions: []" for none',
  schema: fileSchema,
};

/** Reads the files that `firmware_version_files` matches, and adds their faults. `versions`: the newest last. */
export async function readFirmwareVersions(
  main: ConfigFile,
  patterns: readonly string[],
  env: Environment,
  files: ConfigFiles,
): Promise<{ readonly versions: readonly FirmwareVersion[]; readonly read: MatchedFiles }> {
  const read = await readPatternFiles(main, 'firmware_version_files', patterns, BOUNDS);
  const versions: FirmwareVersion[] = [];
  for (const matched of read.files) {
    const file = await files.parse(matched.name, matched.path, matched, ROOT);
    const keys = file && (await checkSettings(file, env, fileSchema));
    versions.push(...(keys?.versions ?? []).filter((one) => isWhole(versionSchema, one)));
  }
  return { versions: versions.toSorted((a, b) => compareFirmware(a.version, b.version) ?? 0), read };
}

/** Counts the listed versions that are newer than the firmware of a router. No sample if either is unknown. */
export function countNewerVersions(firmware = '', versions: readonly FirmwareVersion[]): readonly Sample[] {
  const newest = versions.at(-1)?.version ?? '';
  if (compareFirmware(newest, firmware) === undefined) return [];
  const newer = versions.filter(({ version }) => compareFirmware(version, firmware) === 1);
  const severity = SEVERITIES.findLast((one) => newer.some((version) => version.severity === one)) ?? 'none';
  return [{ labels: { newest_version: newest, severity }, value: new Set(newer.map(({ version }) => version)).size }];
}
