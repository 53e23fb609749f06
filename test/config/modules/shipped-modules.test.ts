import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { renderFault } from '../../../src/settings/index.ts';
import { loadShippedModules } from '../../../src/status/index.ts';
import { load, SHIPPED_MODULES } from '../configuration-folder.ts';
import { configOf, GAUGE } from './module-text.ts';

describe('loadShippedModules()', () => {
  let folder = '';
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'router-exporter-modules-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  async function loadFiles(files: Readonly<Record<string, string>>): ReturnType<typeof loadShippedModules> {
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
    return loadShippedModules(folder);
  }

  function linesOf(loaded: Awaited<ReturnType<typeof loadFiles>>): string[] {
    return loaded.ok
      ? []
      : loaded.faults.map((fault) => renderFault(fault).replaceAll(`${folder}/`, '').replace(folder, '.'));
  }

  it('names each module after its file, in the order of names, and knows the default set', async () => {
    const module = `resources: [{ path: x, metrics: [{ ${GAUGE} }] }]`;
    await mkdir(join(folder, 'inner'));
    const loaded = await loadFiles({
      'b.yaml': `${module}\nhelp: B.`,
      'a.yaml': `${module}\ndefault: false`,
      'c.yaml': 'reader: log_files\nmin_interval: 1h',
      'd.yml': 'not read',
    });
    expect(linesOf(loaded)).toEqual([]);
    expect(loaded.ok && loaded.modules).toMatchObject([
      { definition: { name: 'a' }, isDefault: false },
      { definition: { name: 'b', help: 'B.', reader: undefined }, isDefault: true },
      { definition: { name: 'c', reader: 'log_files', minIntervalMs: 3_600_000, resources: [] }, isDefault: true },
    ]);
    const byUrl = await loadShippedModules(pathToFileURL(folder));
    expect(byUrl).toEqual(loaded);
  });

  it('reports all faults of all files at once, as those of other modules', async () => {
    const loaded = await loadFiles({
      'a.yaml': 'resorces: []',
      'b.yaml': 'reader: x\nhelp: H',
      'c.yaml': `resources: [{ path: x, metrics: [{ ${GAUGE} }] }]\nreader: log_files`,
      'd e.yaml': `resources: [{ path: x, metrics: [{ ${GAUGE}, part: 1 }] }]`,
      'f.yaml': 'a: [',
      'g.yaml': 'identity: true',
      'h.yaml': 'help: "${HOME}"\nresources: [{ path: x, metrics: [] }]',
    });
    expect(linesOf(loaded).map((line) => line.slice(0, 75))).toEqual([
      'a.yaml:1:1: resorces: Unknown key; did you mean "resources"?',
      'b.yaml:1:9: reader: Expected "compliance", "configuration", "generic" or "l',
      'c.yaml:2:1: reader: A shipped module has either "resources" or a "reader"',
      'd e.yaml:1:1: The name of the file is the name of the module, and "d e" can',
      'd e.yaml:1:91: resources[0].metrics[0].part: "part" requires "form: list" o',
      'f.yaml:1:5: The indentation does not fit the lines above, or a bracket is n',
      'g.yaml:1:1: resources: A shipped module has either "resources" or a "reader',
    ]);
  });

  it('says that the folder does not exist', async () => {
    expect(linesOf(await loadShippedModules(join(folder, 'none')))).toEqual([
      'none:1:1: The folder of the shipped modules does not exist',
    ]);
  });

  it('makes a fault in a shipped module one of the configuration', async () => {
    const { lines } = await load(configOf('{}'), {
      files: { 'shipped/a.yaml': 'help: [' },
      options: { shippedModules: 'shipped' },
    });
    expect(lines).toEqual([expect.stringMatching(/^shipped\/a\.yaml:1:8: /)]);
  });

  it('finds nothing wrong with the modules of the product', async () => {
    const loaded = await loadShippedModules(SHIPPED_MODULES);
    expect(linesOf(loaded)).toEqual([]);
    const modules = loaded.ok ? loaded.modules : [];
    expect(modules.filter(({ isDefault }) => isDefault).map(({ definition }) => definition.name)).toEqual(
      expect.arrayContaining(['device', 'interfaces', 'modem', 'system', 'wan']),
    );
    for (const { definition } of modules) expect(definition.help).toMatch(/^[A-Z].*\.$/);
  });
});
