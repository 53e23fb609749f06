/**
 * Makes the archive for machines without Node.js: `npm run tarball` writes router-exporter-VERSION.linux-ARCHITECTURE.tar.gz and
 * sha256sums.txt into the current folder and prints the name; `npm run tarball -- --arch arm64` for the other architecture.
 * Names are those of the exporters of Prometheus, and so is the layout: one folder with the command at its top.
 */
import { hash } from 'node:crypto';
import { cpSync, globSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lock, run } from './package.ts';
import { epochSeconds, parseArchitecture, setModes, stageLicences, stageProgram, stageUnits } from './stage-program.ts';

const architecture = parseArchitecture();
const name = `router-exporter-${lock.version}.linux-${architecture}`;
const work = mkdtempSync(join(tmpdir(), 'router-exporter-tarball-'));
try {
  const root = join(work, name);
  stageProgram({ lib: join(root, 'lib'), rest: join(work, 'rest'), architecture, work });
  for (const path of globSync('*', { cwd: join(work, 'rest') })) renameSync(join(work, 'rest', path), join(root, path));
  rmSync(join(root, 'deploy/systemd'), { recursive: true });
  cpSync('deploy/tarball/router-exporter', join(root, 'router-exporter'));
  cpSync('deploy/systemd/router-exporter.yaml', join(root, 'router-exporter.yaml'));
  stageUnits(root, [
    ['/opt/router-exporter/node_modules/.bin/router-exporter run', '/opt/router-exporter/router-exporter run'],
    ['/opt/router-exporter/node_modules/router-exporter/README.md', '/opt/router-exporter/README.md'],
  ]);
  stageLicences(root);
  setModes(root, ['router-exporter', 'lib/node', 'deploy/sidecar/run-with-reader.sh']);
  const file = `${name}.tar.gz`;
  const owner = ['--owner=0', '--group=0', '--numeric-owner', '--sort=name', `--mtime=@${epochSeconds}`];
  run('tar', ['--create', '--use-compress-program=gzip -n', ...owner, `--file=${file}`, `--directory=${work}`, name]);
  const sums = globSync(`router-exporter-${lock.version}.linux-*.tar.gz`)
    .toSorted()
    .map((one) => `${hash('sha256', readFileSync(one))}  ${one}\n`);
  writeFileSync('sha256sums.txt', sums.join(''));
  process.stdout.write(`${file}\n`);
} finally {
  rmSync(work, { recursive: true, force: true });
}
