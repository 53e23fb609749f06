import { expect, test } from 'vitest';
import { load, withRouter } from './configuration-folder.ts';

const CONFIG = `firmware_version_files: [versions.yaml]\n${withRouter()}`;
const read = (text: string) => load(CONFIG, { files: { 'versions.yaml': text } });

test('listed firmware versions are read from their file, and sorted by their numbers', async () => {
  const { config, lines } = await read(
    'versions:\n  - { version: "9.10", date: 2026-01-31, notes: Fixes the modem., severity: warning }\n  - version: "9.9"\n',
  );
  expect(lines).toEqual([]);
  expect(config?.firmware_versions).toEqual([
    { version: '9.9', severity: 'info' },
    { version: '9.10', date: '2026-01-31', notes: 'Fixes the modem.', severity: 'warning' },
  ]);
});

test('without a file, no version is listed', async () => {
  expect((await load(withRouter())).config?.firmware_versions).toEqual([]);
});

test.for([
  ['versions: []', []],
  ['', ['versions.yaml:1:1: The file is empty; write "versions: []" for none']],
  ['[]', ['versions.yaml:1:1: Expected a map with the key "versions:"; found an empty list']],
  [
    'versions: [{ version: 9.10 }]',
    ['versions.yaml:1:23: versions[0].version: Expected a version in quotes, such as "9.5"; found the number 9.1'],
  ],
  [
    'versions: [{ version: newest }]',
    ['versions.yaml:1:23: versions[0].version: Expected a version in quotes, such as "9.5"; found "newest"'],
  ],
  [
    'versions: [{ notes: x }]',
    ['versions.yaml:1:12: versions[0].version: Missing key; expected a version in quotes, such as "9.5"'],
  ],
  [
    'versions: [{ version: "9.5", severity: high }]',
    ['versions.yaml:1:40: versions[0].severity: Expected "info", "warning" or "critical"; found "high"'],
  ],
  [
    'version: "9.5"',
    [
      'versions.yaml:1:1: version: Unknown key; did you mean "versions"?',
      `versions.yaml:1:1: versions: Missing key; expected a list of at most 100 versions such as '- version: "9.5"'`,
    ],
  ],
] as const)('a file of firmware versions with %j has the faults %j', async ([text, faults]) => {
  expect((await read(text)).lines).toEqual(faults);
});

test('a file of firmware versions that does not exist is a fault', async () => {
  expect((await load(CONFIG)).lines).toEqual([
    'router-exporter.yaml:1:26: firmware_version_files[0]: The file named here, "versions.yaml", does not exist; relative paths start at FOLDER',
  ]);
});
