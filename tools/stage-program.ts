/** What the packages that bring their Node.js have in common: the Debian package and the archive. */
import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { fetchRuntime, stagePackage } from './package.ts';
import { createSbom, renderLicences } from './sbom.ts';

/** Architectures of packages with a Node.js: the name of Debian and Prometheus, and that of Node.js. */
const ARCHITECTURES = { amd64: 'x64', arm64: 'arm64' } as const;
export type Architecture = keyof typeof ARCHITECTURES;
/** What the program needs; the rest of the npm package is documentation. */
const PROGRAM = ['bin', 'dist', 'package.json'];
/** Time of all files, so that two builds with the same SOURCE_DATE_EPOCH are equal. */
export const epochSeconds = Number(process.env['SOURCE_DATE_EPOCH'] ?? Math.floor(Date.now() / 1000));

/** Returns the architecture of `--arch`. Default: that of this machine. */
export function parseArchitecture(): Architecture {
  const { values: flags } = parseArgs({ options: { arch: { type: 'string' } } });
  const host = Object.entries(ARCHITECTURES).find(([, name]) => name === process.arch)?.[0];
  const architecture = (flags.arch ?? host) as Architecture;
  if (architecture in ARCHITECTURES) return architecture;
  const known = Object.keys(ARCHITECTURES).join(', ');
  throw new RangeError(`Expected --arch to be one of ${known}, found ${architecture}`);
}

interface Stage {
  /** Folder of the program with its Node.js, which is created. */
  readonly lib: string;
  /** Folder of what else the npm package has, which is created. */
  readonly rest: string;
  readonly architecture: Architecture;
  readonly work: string;
}

/** Lays out the program with its Node.js, and apart from it the documentation of the npm package. */
export function stageProgram({ lib, rest, architecture, work }: Stage): void {
  stagePackage(rest);
  mkdirSync(lib, { recursive: true });
  for (const name of PROGRAM) renameSync(join(rest, name), join(lib, name));
  rmSync(join(lib, 'dist/types'), { recursive: true });
  // The command is another file: this one is not started by itself.
  const entry = join(lib, 'bin/router-exporter.js');
  writeFileSync(entry, readFileSync(entry, 'utf8').replace(/^#!.*\n/, ''));
  const runtime = fetchRuntime(ARCHITECTURES[architecture], work);
  cpSync(join(runtime, 'bin/node'), join(lib, 'node'));
  cpSync(join(runtime, 'LICENSE'), join(rest, 'node-LICENSE'));
}

/** Writes the licences of all parts, and their list for scanners, into `folder`. */
export function stageLicences(folder: string): void {
  const sbom = createSbom();
  writeFileSync(join(folder, 'licences.md'), renderLicences(sbom));
  writeFileSync(join(folder, 'sbom.cdx.json'), `${JSON.stringify(sbom, null, 2)}\n`);
}

/** Writes the units of deploy/systemd into `folder` for a package with a Node.js. `changes`: where the program is. */
export function stageUnits(folder: string, changes: readonly (readonly [before: string, after: string])[]): void {
  mkdirSync(folder, { recursive: true });
  for (const name of ['router-exporter.service', 'router-exporter@.service']) {
    let unit = readFileSync(join('deploy/systemd', name), 'utf8');
    for (const [before, after] of [
      ...changes,
      [/# The Node\.js installed next to the agent.*\nEnvironment=PATH=.*\n/, ''] as const,
    ]) {
      const changed = unit.replace(before, after);
      if (changed === unit) throw new RangeError(`deploy/systemd/${name} has no ${before}`);
      unit = changed;
    }
    writeFileSync(join(folder, name), unit);
  }
}

/** Sets the modes below `root`, whatever umask and archives made of them. */
export function setModes(root: string, programs: readonly string[]): void {
  for (const path of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
    const isExecutable = lstatSync(join(root, path)).isDirectory() || programs.includes(path);
    chmodSync(join(root, path), isExecutable ? 0o755 : 0o644);
  }
}
