/**
 * Fills the table of docs/install.md with what the tests of the packages need for each way to install: commands, and seconds on
 * this machine. `node_modules/.bin/node tools/installation.ts`, with the programs of CONTRIBUTING.md for the tests of the packages.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Installation } from '../test/support/installation-figures.ts';

const PAGE = 'docs/install.md';
const BEGIN = '<!-- measured by tools/installation.ts -->';
const END = '<!-- end of what is measured -->';
const FILES = ['tarball', 'debian', 'container-in-clean-root', 'helm'].map((name) => `test/deploy/${name}.test.ts`);
const TESTS = [
  ...['is installed with the commands', 'is installed by the Ansible role', 'runs as a service of a real systemd'],
  ...['runs its own command as its own user', 'renders pods that share a fleet', 'installs into an empty folder'],
];
const HEAD = `| Method | To the first metric | Upgrade | Removal |
|---|---:|---:|---:|`;

function renderStep({ commands, ms }: Installation['first']): string {
  const text = `${commands} ${commands === 1 ? 'command' : 'commands'}`;
  return ms === undefined ? text : `${text}, ${(ms / 1000).toFixed(1)} s`;
}

const folder = mkdtempSync(join(tmpdir(), 'installation-'));
const file = join(folder, 'figures');
try {
  const args = ['vitest', 'run', ...FILES, 'test/package.test.ts', '--testNamePattern', TESTS.join('|')];
  const env = { ...process.env, FULL: '1', REQUIRE_TOOLS: '1', INSTALLATION_FIGURES: file };
  const { status } = spawnSync('npx', args, { stdio: 'inherit', env });
  if (status !== 0) throw new RangeError('A test has failed: the table stays as it is');
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  const rows = lines
    .map((line) => JSON.parse(line) as Installation)
    .map(({ method, ...steps }) => [
      method,
      ...[steps.first, steps.upgrade, steps.removal].map((step) => renderStep(step)),
    ]);
  const page = readFileSync(PAGE, 'utf8');
  const [from, to] = [page.indexOf(BEGIN) + BEGIN.length, page.indexOf(END)];
  const body = rows.map((cells) => `| ${cells.join(' | ')} |`).toSorted();
  const load = `Load average of the machine: ${loadavg()[0]?.toFixed(1)}.`;
  writeFileSync(PAGE, `${page.slice(0, from)}\n${HEAD}\n${body.join('\n')}\n\n${load}\n${page.slice(to)}`);
} finally {
  rmSync(folder, { recursive: true });
}
