import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { PROGRAM, startProgram } from '../support/child.ts';
import { findFreePort } from '../support/free-port.ts';
import { withPrograms } from '../support/tools.ts';
import { PROJECT, parsePage } from './read-pages.ts';

const PAGE = 'docs/tutorials/module.md';
const { blocks } = parsePage(PAGE, readFileSync(join(PROJECT, PAGE), 'utf8'));

withPrograms(['curl'], test)('every command of the module tutorial has the result that the page shows', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-tutorial-'));
  const [router, control] = [await findFreePort(), await findFreePort()];
  const adapt = (text: string) => text.replaceAll('9443', String(router)).replaceAll('9442', String(control));
  const [first, ...commands] = blocks.filter(({ language }) => language === 'sh');
  const flags = [`--listen=127.0.0.1:${router}`, `--control=127.0.0.1:${control}`];
  expect(first?.text).toBe('router-exporter simulate --routers 1 --ca-out ca.pem --control\n');
  const simulate = [PROGRAM, 'simulate', '--routers=1', '--ca-out=ca.pem', ...flags];
  await using simulated = startProgram(process.execPath, simulate, {}, folder.path);
  await simulated.waitFor('stdout', /sim-1/);

  let shown: string | undefined;
  let written = 0;
  for (const block of blocks) {
    const [, path = '', isAddition, body = ''] = /^# ([\w./-]+\.yaml)(, .*)?\n([\s\S]*)$/.exec(block.text) ?? [];
    if (block.language === 'yaml') {
      const file = join(folder.path, path);
      mkdirSync(dirname(file), { recursive: true });
      // The new beginning ends in the key with which the file began.
      const text = isAddition ? readFileSync(file, 'utf8').replace(/^defaults:\n/m, body) : adapt(body);
      writeFileSync(file, text);
      written++;
    } else if (commands.includes(block)) {
      const call = `router-exporter() { "${process.execPath}" "${PROGRAM}" "$@"; }\n${adapt(block.text)}`;
      await using step = startProgram('bash', ['-ec', call], {}, folder.path);
      const { code, stdout, stderr } = await step.ended;
      expect(code, `${block.text}\n${stderr}`).toBe(0);
      shown = stdout + stderr;
    } else if (block.language === 'promql') {
      // Its result is not of a command.
      shown = undefined;
    } else if (block.language === 'text' && shown !== undefined) {
      for (const line of block.text.trimEnd().split('\n')) expect(shown).toContain(line);
    }
  }
  expect(written).toBe(3);
  expect(readFileSync(join(folder.path, 'draft.txt'), 'utf8')).toContain('sysdetail_cert_enrollment:');
  const metrics = readFileSync(join(folder.path, 'metrics.prom'), 'utf8');
  expect(metrics).toMatch(/^router_certificate_state\{.*state="valid"\} 1$/m);
  expect(metrics).toMatch(/^router_certificate_left_seconds\{.*\} 1036800$/m);
});
