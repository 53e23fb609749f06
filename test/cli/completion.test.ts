import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { withPrograms } from '../support/tools.ts';
import { runCommand } from './run-command.ts';

let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'router-exporter-completion-'));
  writeFileSync(join(folder, 'fleet.yaml'), '');
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { code, stdout } = await runCommand(['completion', shell]);
    expect(code).toBe(0);
    writeFileSync(join(folder, shell), stdout);
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const complete = { bash: completeInBash, zsh: completeInZsh, fish: completeInFish };

/** Typed words, the last one to be completed, and what must be offered, and must not. */
const CASES: readonly (readonly [typed: string, offered: readonly string[], others: readonly string[]])[] = [
  ['', ['run', 'logs', 'dead-letters', 'completion'], ['list']],
  ['lo', ['logs'], ['run', 'list']],
  ['logs ', ['list', 'fetch'], ['run', 'download']],
  ['dead-letters re', ['replay'], ['list']],
  ['completion ', ['bash', 'fish', 'zsh'], []],
  ['logs list --j', ['--json'], ['--log.level']],
  ['simulate --c', ['--clock-offset', '--ca-out', '--control'], ['--config.file']],
  // `run` is the default command.
  ['--log.l', ['--log.level'], ['--routers']],
  ['run --log.level ', ['debug', 'info', 'warn', 'error'], ['--log.level', 'text']],
  ['run --log.level wa', ['warn'], ['info']],
  ['run --log.format text --total-s', ['--total-shards'], []],
  ['check --config.file fle', ['fleet.yaml'], ['--sinks']],
  ['run --shard ', [], ['run', '--shard']],
];

for (const shell of ['bash', 'zsh', 'fish'] as const) {
  withPrograms([shell], describe)(`the completion of ${shell}`, () => {
    test('is a script that the shell takes', () => {
      expect(spawnSync(shell, ['-n', join(folder, shell)], { encoding: 'utf8' })).toMatchObject({
        status: 0,
        stderr: '',
      });
    });

    test.for(CASES)('offers after "%s" what fits: %j', ([typed, offered, others]) => {
      const found = complete[shell](typed.split(' '));
      expect(found.toSorted()).toEqual(expect.arrayContaining([...offered]));
      expect(found.filter((word) => others.includes(word))).toEqual([]);
      if (offered.length === 0) expect(found).toEqual([]);
    });
  });
}

test('completion of another shell is wrong usage', async () => {
  const { code, stderr } = await runCommand(['completion', 'tcsh']);
  expect(code).toBe(2);
  expect(stderr).toMatch(/bash, zsh, fish/);
});

function runShell(shell: string, script: string): readonly string[] {
  const { status, stdout, stderr } = spawnSync(shell, ['-c', script], { cwd: folder, encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return stdout.split('\n').filter((line) => line !== '');
}

const quoteAll = (words: readonly string[]) => words.map((word) => `'${word}'`).join(' ');

function completeInBash(words: readonly string[]): readonly string[] {
  return runShell(
    'bash',
    `source ./bash; COMP_WORDS=(router-exporter ${quoteAll(words)}); COMP_CWORD=${words.length}
_router_exporter; (IFS=$'\\n'; echo "\${COMPREPLY[*]}")`,
  );
}

/** What zsh would do with the words that the function hands on: only those that begin as typed. */
function completeInZsh(words: readonly string[]): readonly string[] {
  const found = runShell(
    'zsh',
    `compdef() {}; compset() {}
compadd() { shift; print -l -- "$@"; }
_files() { print -l -- *; }
_describe() { print -l -- \${\${(P)@[-1]}%%:*}; }
words=(router-exporter ${quoteAll(words)}); CURRENT=${words.length + 1}; source ./zsh; _router_exporter`,
  );
  return found.filter((word) => word.startsWith(words.at(-1) ?? ''));
}

function completeInFish(words: readonly string[]): readonly string[] {
  const lines = runShell('fish', `source ./fish; complete -C '${['router-exporter', ...words].join(' ')}'`);
  return lines.map((line) => line.split('\t')[0] ?? '');
}

test.each([
  ['--config', '--config.file'],
  ['--log', '--log.level'],
  ['--loglevel', '--log.level'],
])('run with the unknown flag %s says which one was probably meant', async (flag, meant) => {
  expect(await runCommand(['run', flag, 'x'])).toEqual({
    code: 2,
    stdout: '',
    stderr: `error: unknown option '${flag}'\n(Did you mean ${meant}?)\n`,
  });
});
