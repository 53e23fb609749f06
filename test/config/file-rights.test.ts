// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts under test refer to variables.
import { chmod, mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/index.ts';
import { renderFault } from '../../src/settings/index.ts';

/** Writes files with these rights into a folder with these, and returns the warnings without the folder. */
async function warningsOf(files: Readonly<Record<string, readonly [text: string, mode: number]>>, folderMode = 0o755) {
  await using outer = await mkdtempDisposable(join(tmpdir(), 'file-rights-'));
  await chmod(outer.path, 0o755);
  const folder = join(outer.path, 'etc');
  await mkdir(folder);
  for (const [name, [text, mode]] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
    await chmod(join(folder, name), mode);
  }
  await chmod(folder, folderMode);
  const env = { PW: 'from-the-environment', CREDENTIALS_DIRECTORY: join(folder, 'credentials') };
  const loaded = await loadConfig(join(folder, 'a.yaml'), env);
  if (!loaded.ok) throw new RangeError(loaded.faults.map(renderFault).join());
  return (loaded.warnings ?? []).map((warning) => renderFault(warning).replaceAll(`${folder}/`, ''));
}

const withPassword = (password: string) => `routers: [{ name: a, url: "https://a", username: u, ${password} }]\n`;
const SECRET = 'password: hunter2hunter2';

test('loadConfig() warns of secrets that every user of the machine may read, with path and mode', async () => {
  expect(await warningsOf({ 'a.yaml': [withPassword(SECRET), 0o644] })).toEqual([
    'a.yaml:1:1: Every user of this machine may read a.yaml (mode 0644), which holds a secret; run: chmod o-r a.yaml',
  ]);
  const files = { 'a.yaml': [withPassword('password_file: pw'), 0o644], pw: ['hunter2', 0o604] } as const;
  expect(await warningsOf(files)).toEqual([
    'a.yaml:1:68: routers[0].password_file: Every user of this machine may read pw (mode 0604), which holds a secret; run: chmod o-r pw',
  ]);
});

test('loadConfig() warns of files that every user of the machine may write, whatever they hold', async () => {
  const routers = 'router_files: [r.yaml]\n';
  expect(
    await warningsOf({ 'a.yaml': [routers, 0o606], 'r.yaml': [withPassword(SECRET).slice('routers: '.length), 0o606] }),
  ).toEqual([
    'a.yaml:1:1: Every user of this machine may write a.yaml (mode 0606), which decides what the agent does; run: chmod o-w a.yaml',
    'r.yaml:1:1: Every user of this machine may read and write r.yaml (mode 0606), which holds a secret; run: chmod o-rw r.yaml',
  ]);
});

test('loadConfig() does not warn of credentials of systemd, whose folder other users cannot enter', async () => {
  const file = 'password: { file: "${CREDENTIALS_DIRECTORY}/pw" }';
  const files = { 'a.yaml': [withPassword(file), 0o644], 'credentials/pw': ['hunter2', 0o644] } as const;
  expect(await warningsOf(files)).toEqual([]);
});

test.each([
  ['of the owner and the group alone', withPassword(SECRET), 0o640, 0o755],
  ['without a secret', withPassword('password: "${PW}"'), 0o644, 0o755],
  ['with the command of a secret', withPassword('password: { command: [echo, hunter2] }'), 0o644, 0o755],
  ['in a folder that others may not enter', withPassword(SECRET), 0o666, 0o750],
] as const)('loadConfig() does not warn of a file %s', async (_, text, mode, folderMode) => {
  expect(await warningsOf({ 'a.yaml': [text, mode] }, folderMode)).toEqual([]);
});

test('loadConfig() warns of twenty files, and counts the others', async () => {
  const names = Array.from({ length: 25 }, (_, index) => `pw-${index}`);
  const routers = names.map(
    (name) => `- { name: ${name}, url: "https://${name}", username: u, password_file: ${name} }\n`,
  );
  const files = Object.fromEntries(names.map((name) => [name, ['hunter2', 0o644] as const]));
  const warnings = await warningsOf({ 'a.yaml': [`routers:\n${routers.join('')}`, 0o600], ...files });
  expect(warnings).toHaveLength(21);
  expect(warnings.at(-1)).toBe('a.yaml:1:1: There are 5 more warnings of this kind');
});

test('loadConfig() warns of folders of the agent in which every user of the machine may put files', async () => {
  await using outer = await mkdtempDisposable(join(tmpdir(), 'file-rights-'));
  await chmod(outer.path, 0o755);
  const [file, state, backups, own] = ['a.yaml', 'state', 'backups', 'own'].map((name) => join(outer.path, name)) as [
    string,
    string,
    string,
    string,
  ];
  for (const folder of [state, backups, own]) await mkdir(folder);
  await chmod(state, 0o757);
  await chmod(backups, 0o1777);
  const text = withPassword('password: "${PW}"');
  await writeFile(file, `storage: { path: state }\nbackup: { path: backups, schedule: "0 3 * * *" }\n${text}`, {
    mode: 0o600,
  });
  const warn = async (storagePath?: string) => {
    const loaded = await loadConfig(file, { PW: 'x' }, { storagePath });
    return (loaded.ok ? (loaded.warnings ?? []) : []).map(({ line, message }) => [line, message]);
  };
  const ofBackups = [
    2,
    `Every user of this machine may write ${backups} (mode 1777), where the agent keeps its files; run: chmod o-w ${backups}`,
  ];
  expect(await warn()).toEqual([
    [
      1,
      `Every user of this machine may write ${state} (mode 0757), where the agent keeps its files; run: chmod o-w ${state}`,
    ],
    ofBackups,
  ]);
  expect(await warn(own)).toEqual([ofBackups]);
});
