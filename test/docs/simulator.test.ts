import { expect, test } from 'vitest';
import { controlActionNames } from '../../src/simulator/control.ts';
import { deviceLogSettings, FAULT_NAMES, plainRestFeatures } from '../../src/simulator/index.ts';
import { runCommand } from '../cli/run-command.ts';
import { readPages } from './read-pages.ts';

const page = readPages().find(({ path }) => path === 'docs/simulator.md')?.prose ?? '';

/** The names in the first column of the table under this head. */
function listRows(head: string): readonly string[] {
  const [, table = ''] = page.split(`| ${head} |`);
  const rows = (table.split('\n\n')[0] ?? '').split('\n').slice(2);
  return rows.flatMap((row) => [...(row.split(' | ')[0] ?? '').matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? ''));
}

test('the guide to the simulator has every fault, action and flag, and no other', async () => {
  expect(listRows('Name').toSorted()).toEqual(FAULT_NAMES.toSorted());
  expect(listRows('Action').toSorted()).toEqual(controlActionNames.toSorted());
  const { stdout } = await runCommand(['simulate', '--help']);
  const flags = [...stdout.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, flag]) => flag ?? '');
  const rows = listRows('Flag').map((row) => row.split(' ')[0] ?? '');
  expect(rows.toSorted()).toEqual(flags.toSorted());
});

test('the guide to the simulator names every setting of its logs and every feature', () => {
  for (const name of [...Object.keys(deviceLogSettings), ...Object.keys(plainRestFeatures)]) {
    expect(page).toContain(`\`${name}\``);
  }
});
