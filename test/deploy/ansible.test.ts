import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { withPrograms } from '../support/tools.ts';

const ANSIBLE = fileURLToPath(new URL('../../deploy/ansible', import.meta.url));
const page = readFileSync(join(ANSIBLE, 'README.md'), 'utf8');
const example = /```yaml\n(.*?)```/s.exec(page)?.[1] ?? '';

/** A copy of the role, which ansible-lint may write beside. */
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'router-exporter-ansible-'));
  cpSync(ANSIBLE, folder, { recursive: true });
  writeFileSync(join(folder, 'site.yaml'), example);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function run(program: string, ...args: readonly string[]) {
  const env = { ...process.env, HOME: folder, ANSIBLE_ROLES_PATH: join(folder, 'roles'), NO_COLOR: '1' };
  return spawnSync(program, args, { cwd: folder, encoding: 'utf8', env });
}

// What the role does to a machine is tried with the archive, in tarball.test.ts.
withPrograms(['ansible-lint', 'ansible-playbook', 'python3'], test)(
  'the role and the play of its page pass ansible-lint',
  () => {
    const lint = () => run('ansible-lint', '--offline', '--profile', 'production', 'roles', 'site.yaml');
    expect(lint()).toMatchObject({ status: 0 });
    const file = join(folder, 'roles/router_exporter/tasks/main.yml');
    const tasks = readFileSync(file, 'utf8');
    writeFileSync(file, tasks.replace('  changed_when: false\n', ''));
    expect(lint()).toMatchObject({ status: 2, stdout: expect.stringContaining('no-changed-when') });
    writeFileSync(file, tasks);
  },
);

withPrograms(['ansible-playbook', 'python3'], test)('ansible-playbook reads the play of the page', () => {
  expect(run('ansible-playbook', '--inventory', 'agents,', '--syntax-check', 'site.yaml')).toMatchObject({ status: 0 });
});

test('the page describes every variable of the role', () => {
  const variables = readFileSync(join(ANSIBLE, 'roles/router_exporter/defaults/main.yml'), 'utf8');
  const names = [...variables.matchAll(/^(router_exporter_\w+):/gm)].map(([, name = '']) => name);
  expect(names.length).toBeGreaterThan(3);
  for (const name of names) expect(example).toContain(`${name}:`);
});
