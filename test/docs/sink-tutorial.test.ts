import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startProgram } from '../support/child.ts';
import { findFreePort } from '../support/free-port.ts';
import { PROJECT, parsePage } from './read-pages.ts';

const PAGE = 'docs/tutorials/sink.md';
const LIST = 'src/sinks/types/list.ts';
/** Of a checkout, what the steps of the page need. */
const COPIED = ['src', 'bin', 'test/support', 'package.json', 'tsconfig.json', 'docs/log-records.md'];

const { blocks } = parsePage(PAGE, readFileSync(join(PROJECT, PAGE), 'utf8'));
/** The folder outside the checkout; here it is in the copy. */
const OUTSIDE = '/tmp/webhook';
const RECEIVER = 'webhook/receiver.ts';
/** Files of the page by the name in their first line, within the copy. */
const files = new Map(
  blocks.flatMap(({ language, text }) => {
    const [, path, body = ''] = /^\/\/ (\S+\.ts)\n([\s\S]*)$/.exec(text) ?? [];
    return language === 'ts' && path !== undefined ? [[path.replace(`${OUTSIDE}/`, 'webhook/'), body] as const] : [];
  }),
);
const [, programs = '', shipping = ''] = blocks.filter(({ language }) => language === 'sh').map(({ text }) => text);

let folder: string;

/** Runs a program in the copy to its end, and returns what it has written to standard output. */
async function run(program: string, ...args: string[]): Promise<string> {
  await using started = startProgram(program, args, {}, folder);
  const { code, stdout, stderr } = await started.ended;
  expect(code, `${program} ${args.join(' ')}\n${stdout}\n${stderr}`).toBe(0);
  return stdout;
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'router-exporter-tutorial-'));
  for (const name of COPIED) cpSync(join(PROJECT, name), join(folder, name), { recursive: true });
  symlinkSync(join(PROJECT, 'node_modules'), join(folder, 'node_modules'));
  for (const name of ['test/sinks/types', 'webhook']) mkdirSync(join(folder, name), { recursive: true });
  for (const [path, body] of files) if (path !== LIST) writeFileSync(join(folder, path), body);
  // The page shows two lines of the list: one is added, the other replaces the one before.
  const [added = '', list = ''] = files.get(LIST)?.split('\n\n') ?? [];
  const before = readFileSync(join(PROJECT, LIST), 'utf8');
  writeFileSync(join(folder, LIST), `${added}\n${before.replace(/^export const SINKS = .*\n/m, list)}`);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('the list of sinks in the tutorial is the present one with one type more', () => {
  const present = /^export const SINKS = \{ (.*) \};$/m.exec(readFileSync(join(PROJECT, LIST), 'utf8'))?.[1];
  expect(files.get(LIST)).toContain(`export const SINKS = { ${present}, webhook };`);
});

test('the code of the sink tutorial compiles, and its test passes', async () => {
  const include = [...files.keys(), 'src/**/*.d.ts'];
  writeFileSync(join(folder, 'tsconfig.page.json'), JSON.stringify({ extends: './tsconfig.json', include }));
  await run('node_modules/.bin/tsc', '-p', 'tsconfig.page.json');
  writeFileSync(join(folder, 'vitest.config.ts'), 'export default {};\n');
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', 'test/sinks/types/webhook.test.ts'];
  expect(await run(process.execPath, ...vitest)).toContain('2 passed');
});

test('the commands of the sink tutorial ship the logs of a simulated router', async () => {
  const [receiver, router] = [await findFreePort(), await findFreePort()];
  const inCopy = (text: string) =>
    text
      .replaceAll('8088', String(receiver))
      .replaceAll('9443', String(router))
      .replaceAll(OUTSIDE, join(folder, 'webhook'));
  writeFileSync(join(folder, RECEIVER), inCopy(files.get(RECEIVER) ?? ''));
  expect(programs).toBe(
    `npx node ${OUTSIDE}/receiver.ts &\nnpx router-exporter simulate --routers 1 --ca-out ${OUTSIDE}/ca.pem &\n`,
  );
  await using taken = startProgram(process.execPath, [RECEIVER], {}, folder);
  const simulate = [
    'bin/router-exporter.js',
    'simulate',
    '--routers=1',
    '--ca-out=webhook/ca.pem',
    `--listen=127.0.0.1:${router}`,
  ];
  await using simulated = startProgram(process.execPath, simulate, {}, folder);
  await taken.waitFor('stdout', /ready/);
  await simulated.waitFor('stdout', /sim-1/);
  // As npx in a checkout, without its start.
  const npx = `npx() { shift; "${process.execPath}" bin/router-exporter.js "$@"; }\n`;
  const shown = await run('bash', '-ec', npx + inCopy(shipping));
  expect(shown).toContain('hook');
  expect(shown).toContain('no DHCP here');
  const metrics = readFileSync(join(folder, 'webhook/metrics.prom'), 'utf8');
  expect(metrics).toMatch(/router_exporter_sink_records_total\{.*result="delivered".*\} [1-9]/);
  expect(metrics).toMatch(/router_exporter_sink_records_total\{.*result="dead_letter".*\} [1-9]/);
  expect(taken.stdout).toMatch(/^ready\nTest record of router-exporter: it can be deleted\n/);
  expect(taken.stdout.split('\n').length).toBeGreaterThan(10);
});
