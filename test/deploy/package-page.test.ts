import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { startRouterExporter } from '../support/child.ts';
import { parseDockerfile } from '../support/dockerfile.ts';

const PAGE = fileURLToPath(new URL('../../docs/install.md', import.meta.url));
const ROOT = join(dirname(PAGE), '..');
const page = readFileSync(PAGE, 'utf8');
const blocksOf = (language: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(([, text = '']) => text);
const commands = blocksOf('sh');

test('docs/install.md links to files that exist', () => {
  const links = [...page.matchAll(/\]\(([^)#:]+)(?:#[\w-]+)?\)/g)].map(([, path = '']) => path);
  expect(links.length).toBeGreaterThan(10);
  expect(links.filter((path) => !existsSync(join(dirname(PAGE), path)))).toEqual([]);
});

test('docs/install.md has commands that a shell can read, in folders and with files that exist', () => {
  expect(commands.length).toBeGreaterThan(6);
  for (const text of commands) {
    expect(spawnSync('sh', ['-n'], { input: text, encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
  }
  const text = commands.join('');
  const folders = [...text.matchAll(/^cd (?:\S*\/node_modules\/router-exporter\/)?(deploy\/\S+)/gm)].map(
    ([, path = '']) => path,
  );
  expect(folders).toEqual(['deploy/systemd', 'deploy/compose', 'deploy/sidecar']);
  expect(folders.filter((path) => !statSync(join(ROOT, path)).isDirectory())).toEqual([]);
  const installed = [...text.matchAll(/^install -m \d+ (\S+) \S+\/(\S+)$/gm)];
  expect(installed.map(([, from, to]) => [from === to, existsSync(join(ROOT, 'deploy/systemd', from ?? ''))])).toEqual([
    [true, true],
    [true, true],
  ]);
  for (const [, script = '', config = ''] of text.matchAll(/^(\.\/\S+\.sh) '.*--config (\S+)'/gm)) {
    expect([script, config].filter((name) => !existsSync(join(ROOT, 'deploy/sidecar', name)))).toEqual([]);
  }
});

test('docs/install.md builds the Dockerfile with arguments that it has, and runs it with its port and folders', () => {
  const text = commands.join('');
  const image =
    parseDockerfile(readFileSync(join(ROOT, 'deploy/container/Dockerfile'), 'utf8')).at(-1)?.instructions ?? [];
  const of = (keyword: string) => image.filter((one) => one.keyword === keyword).map((one) => one.text);
  const args = [...text.matchAll(/--build-arg (\w+)=/g)].map(([, name]) => name);
  expect(args).toEqual(of('ARG').map((arg) => arg.split('=')[0]));
  expect(text).toContain(`--publish 127.0.0.1:9847:${of('EXPOSE')[0]} `);
  expect(text).toContain(`--volume router-exporter-state:${of('VOLUME')[0]} `);
  expect(text).toContain(`:${/--config\.file=([^"]+)"/.exec(of('CMD')[0] ?? '')?.[1]}:ro`);
});

test('docs/install.md shows settings that check accepts', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'router-exporter-page-'));
  try {
    const [sinks = ''] = blocksOf('yaml');
    const config = join(folder, 'router-exporter.yaml');
    const router = '{ name: plant-7, url: "https://192.0.2.10", username: monitor, password: secret }';
    writeFileSync(config, `routers: [${router}]\n${sinks.replace('/records/', `${folder}/`)}`);
    await using check = startRouterExporter('check', '--config.file', config);
    expect(await check.ended).toMatchObject({ code: 0 });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
