import { spawnSync } from 'node:child_process';
import { copyFileSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MODULES, modulesBelow, renderLintConfig } from '../tools/import-rules.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const OXLINT = join(ROOT, 'node_modules/.bin/oxlint');

interface Finding {
  readonly code: string;
  readonly filename: string;
  readonly help: string;
}

/** Runs the project's linter with the project's configuration on `src/` below `folder`. */
function lint(folder: string): Finding[] {
  const { stdout } = spawnSync(OXLINT, ['--format', 'json', 'src'], { cwd: folder, encoding: 'utf8' });
  return (JSON.parse(stdout) as { diagnostics: Finding[] }).diagnostics;
}

describe('the import rule', () => {
  let folder: string;
  let findings: Finding[];
  const plant = (file: string, text: string) => {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  };
  const findingsIn = (file: string) => findings.filter(({ filename }) => filename === file);

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'router-exporter-architecture-'));
    copyFileSync(join(ROOT, '.oxlintrc.json'), join(folder, '.oxlintrc.json'));
    for (const module of MODULES) {
      for (const other of MODULES) {
        if (module !== other) plant(`src/${module}/to-${other}.ts`, `export { x } from '../${other}/index.ts';\n`);
      }
    }
    plant('src/logs/type-only.ts', "import type { X } from '../client/index.ts';\nexport type Y = X;\n");
    plant('src/logs/deep/lazy.ts', "export const x = import('../../status/index.ts');\n");
    plant('src/logs/past-the-entry-point.ts', "export { Secret } from '../base/secret.ts';\n");
    plant('src/logs/step/to-reading.ts', "export { x } from '../reading/file-reading.ts';\n");
    plant('src/logs/step/to-records.ts', "export { x } from '../records/entry.ts';\n");
    plant('src/logs/step/to-web.ts', "export { x } from '../../web/index.ts';\n");
    plant('src/logs/reading/to-step.ts', "export { x } from '../step/step.ts';\n");
    plant('src/cli/to-main.ts', "export { x } from '../main.ts';\n");
    plant('src/agent/to-library.ts', "export { x } from '../index.ts';\n");
    plant('src/index.ts', "export * from './client/index.ts';\nexport { x } from './client/client.ts';\n");
    plant('src/status/cycle-a.ts', "import { b } from './cycle-b.ts';\nexport const a = () => b;\n");
    plant('src/status/cycle-b.ts', "import { a } from './cycle-a.ts';\nexport const b = () => a;\n");
    findings = lint(folder);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('is in the configuration of the linter as tools/import-rules.ts renders it (`npm run import-rules` writes it)', () => {
    const text = readFileSync(join(ROOT, '.oxlintrc.json'), 'utf8');
    expect(JSON.parse(text)).toEqual(JSON.parse(renderLintConfig()));
  });

  test.for(MODULES)('lets %s import the layers below it and nothing else', (module) => {
    for (const other of MODULES) {
      if (module === other) continue;
      const codes = findingsIn(`src/${module}/to-${other}.ts`).map(({ code }) => code);
      expect({ other, codes }).toEqual({
        other,
        codes: modulesBelow(module).includes(other) ? [] : ['eslint(no-restricted-imports)'],
      });
    }
  });

  test('catches a planted sideways import and says where it belongs', () => {
    expect(findingsIn('src/logs/to-client.ts').map(({ help }) => help)).toEqual([
      'The module logs may import only base, model, settings, net. Declare the small interface that it needs here; src/agent passes the module that implements it.',
    ]);
  });

  test.for([
    'src/logs/type-only.ts',
    'src/logs/deep/lazy.ts',
    'src/logs/past-the-entry-point.ts',
    'src/logs/step/to-reading.ts',
    'src/logs/step/to-records.ts',
    'src/logs/step/to-web.ts',
    'src/cli/to-main.ts',
    'src/agent/to-library.ts',
    // One of its two lines; the other uses the entry point.
    'src/index.ts',
  ])('catches %s', (file) => {
    expect(findingsIn(file).map(({ code }) => code)).toEqual(['eslint(no-restricted-imports)']);
  });

  test('lets a folder of a module import the folders below it', () => {
    expect(findingsIn('src/logs/reading/to-step.ts')).toEqual([]);
  });

  test('catches a cycle of files', () => {
    expect(findingsIn('src/status/cycle-a.ts').map(({ code }) => code)).toContain('import(no-cycle)');
  });

  test('holds in src/', () => {
    expect(lint(ROOT)).toEqual([]);
  });
});

describe('src/', () => {
  const files = globSync('src/**/*.ts', { cwd: ROOT }).map((path) => ({
    path,
    text: readFileSync(join(ROOT, path), 'utf8'),
  }));
  /** Lists files outside `modules` that contain `pattern`. */
  const violators = (pattern: RegExp, ...modules: string[]) =>
    files
      .filter(({ path, text }) => pattern.test(text) && !modules.some((module) => path.startsWith(`src/${module}`)))
      .map(({ path }) => path);

  test('opens outgoing connections only in client/, sinks/ and inventory/, with the tools of net/, and listens only in web/ and simulator/', () => {
    // `isIP` of node:net parses a text and opens nothing.
    const network =
      /(?<!import \{ isIP(v4|v6)?(, isIPv6)? \} )from '(undici|node:(net|tls|http|https|http2|dgram|dns)(\/promises)?)'/;
    expect(violators(network, 'net/', 'client/', 'sinks/', 'inventory/', 'web/', 'simulator/')).toEqual([]);
    // A consumer of NATS asks over a connection that is there.
    expect(violators(/(?<!consumer\.)\bfetch\(|new WebSocket\(/, 'simulator/', 'cli/bench/')).toEqual([]);
  });

  test('writes to disk only in store/, in backup/, in the file sink and in the files that a command names', () => {
    const writing =
      /import[^;]*\b(write|append|mkdir|mkdtemp|rename|rm|rmdir|unlink|truncate|chmod|createWriteStream|DatabaseSync)\w*\b[^;]*from 'node:(fs|sqlite)/;
    expect(violators(writing, 'store/', 'backup/', 'cli/', 'sinks/types/file')).toEqual([]);
  });

  test('reads the environment only in config/, and ends the process only in main.ts', () => {
    expect(violators(/process\.env\b/, 'config/')).toEqual([]);
    expect(violators(/process\.(exit|abort)\(/, 'main.ts')).toEqual([]);
    // A command of a secret is ended with all that it has started, which Node.js can do by the number of its group alone.
    expect(violators(/process\.kill\(/, 'main.ts', 'settings/files/secret-keeper.ts')).toEqual([]);
  });

  test('takes time, timers and randomness only in base/', () => {
    const ambient = /\bDate\.now\(|new Date\(\)|\b(setTimeout|setInterval)\(|Math\.random\(|performance\.now\(/;
    expect(violators(ambient, 'base/')).toEqual([]);
  });

  test('leaves logging and counting to agent/ and cli/', () => {
    expect(violators(/\b(createLogger|Logger|from 'prom-client'|from 'pino')/, 'base/', 'agent/', 'cli/')).toEqual([]);
  });

  test('throws coded errors, never a bare Error', () => {
    expect(violators(/throw new Error\(/)).toEqual([]);
  });

  test('has an entry point in every module, whose header says what the module owns', () => {
    const entryPoints = files.filter(({ path }) => /^src\/[a-z\d]+\/index\.ts$/.test(path));
    expect(entryPoints.map(({ path }) => path.split('/')[1] ?? '').toSorted()).toEqual(MODULES.toSorted());
    for (const { path, text } of entryPoints) {
      const module = path.split('/')[1];
      expect(text).toMatch(
        new RegExp(`^/\\*\\*\n \\* ${module}: [^]*\n \\* Owns: [^]*\n \\* Does not own: [^]*\n \\* Start reading at: `),
      );
    }
  });
});
