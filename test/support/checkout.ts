import { cpSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** What making the packages needs of a checkout. The rest is left out, so that a package that depends on it does not come about. */
const SOURCES = [
  ...['bin', 'src', 'tools', 'package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json', '.npmrc'],
  ...[
    'README.md',
    'CHANGELOG.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    'LICENSE',
    'docs',
    'deploy',
    'dashboards',
    'bench/RESULTS.md',
  ],
  // What must not get into a package.
  'test/package.test.ts',
];

/** Copies this checkout into `folder`, with the installed packages of this one, so that what is made there disturbs nobody. */
export function copyCheckout(folder: string): void {
  for (const name of SOURCES) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
}
