import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { CERTIFICATE, load, SHIPPED_MODULES, withRouter } from '../config/configuration-folder.ts';
import { Choices, countCases, describeCases, limitMs } from './random-cases.ts';

const SHARE = 0.01;
/** Processor time of one case: some KB of YAML. Milliseconds. */
const CASE_MS_MAX = 2000;
/** Each place names its fault; more are not read. */
const FAULTS_MAX = 2000;

const EXAMPLE = readFileSync(new URL('../config/every-key.yaml', import.meta.url), 'utf8').replaceAll(/^ *#.*\n/gm, '');
const LINES = EXAMPLE.split('\n');
const TOKENS = [...new Set(EXAMPLE.split(/[\s,[\]{}]+/))];
const SYNTAX = [
  '- ',
  ': ',
  '? ',
  '{',
  '}',
  '[',
  ']',
  '"',
  "'",
  '|',
  '>',
  '&a ',
  '*a',
  '!!binary ',
  '<<: *a',
  '%YAML 1.1\n',
  '---\n',
  '...\n',
  '\t',
  '\n',
  '#',
  '@',
  '`',
  '\u0000',
  '\ufeff',
  '\u2028',
  '${',
  '}',
  '$${',
  '${HOME:-',
  '~',
  'null',
  '0x1F',
  '1e99',
  '.inf',
  '2026-11-21',
  'yes',
];

function createText(choices: Choices): string {
  const original = choices.once(3) ? withRouter() : EXAMPLE;
  const lines = original.split('\n');
  for (let changes = 1 + choices.below(4); changes > 0; changes--) {
    const at = choices.below(lines.length);
    const line = lines[at] ?? '';
    const kind = choices.below(8);
    if (kind === 0) lines.splice(at, 1 + choices.below(3));
    else if (kind === 1) lines.splice(at, 0, choices.of(LINES));
    else if (kind === 2) lines[at] = ' '.repeat(choices.below(9)) + line.trimStart();
    else if (kind === 3) lines[at] = line.replace(choices.of(TOKENS), choices.of(TOKENS));
    else if (kind === 4) {
      const from = choices.below(line.length + 1);
      lines[at] = line.slice(0, from) + choices.of(SYNTAX) + line.slice(from);
    } else if (kind === 5) lines[at] = line.replace(/: .*/, () => `: ${choices.of([...TOKENS, ...SYNTAX])}`);
    else if (kind === 6) lines.splice(at, 0, ...lines.slice(at, at + 1 + choices.below(20)));
    else lines[at] = choices.of(SYNTAX).repeat(1 + choices.below(300)) + line;
  }
  return lines.join('\n');
}

test(`any configuration is one, or has faults with their places, in bounded time: ${describeCases(SHARE)}`, {
  timeout: limitMs(SHARE, 600),
}, async () => {
  let good = 0;
  const around = {
    env: { ROUTER_PASSWORD: 'secret of the environment', OPERATOR_TOKEN: 'x' },
    files: { 'plant-7.pw': 'from file\n', 'ca.pem': CERTIFICATE },
    options: { shippedModules: SHIPPED_MODULES },
  };
  const count = countCases(SHARE);
  for (let number = 0; number < count; number++) {
    const choices = new Choices('configuration', number);
    const text = createText(choices);
    const bytes = choices.once(4) ? choices.mutate(Buffer.from(text)) : Buffer.from(text);
    const about = `case ${number}: ${bytes.toString('latin1')}`;
    const before = process.cpuUsage();
    const { config, faults, lines } = await load(bytes, around);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1000, about).toBeLessThan(CASE_MS_MAX);
    if (config) {
      good++;
      continue;
    }
    expect(faults.length, about).toBeGreaterThan(0);
    expect(faults.length, about).toBeLessThanOrEqual(FAULTS_MAX);
    const lineCount = bytes.toString('utf8').split(/\r\n|\r|\n/).length;
    for (const { file, line, column, message } of faults) {
      expect(message, about).toMatch(/\S/);
      expect(line, about).toBeGreaterThanOrEqual(1);
      expect(column, about).toBeGreaterThanOrEqual(1);
      if (file.endsWith('router-exporter.yaml')) expect(line, about).toBeLessThanOrEqual(lineCount);
    }
    expect(lines.join('\n'), about).not.toContain('secret of the environment');
  }
  expect(good).toBeGreaterThan(0);
  expect(good).toBeLessThan(count);
});
