import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/index.ts';
import { renderFault } from '../../src/settings/index.ts';
import { CERTIFICATE, load, withRouter } from './configuration-folder.ts';

const MAIN = 'defaults: { auth: none }\nrouter_files: ["routers/*.yaml"]\n';
const router = (name: string, more = '') => `{ name: ${name}, url: "http://${name}", ${more} }`;
const ROOT = 'Expected a list of routers such as "- name: plant-7" with "url: https://192.0.2.10" below';

describe('loadConfig() on files of routers', () => {
  it('adds their routers to those of the main file, in the order of the files', async () => {
    const { config, lines } = await load(`${MAIN}routers: [${router('main')}]`, {
      files: {
        'routers/b.yaml': `- ${router('b1')}\n- ${router('b2')}\n`,
        'routers/a.yaml': `[${router('a')}]`,
        'routers/c.yaml': '[]',
        'routers/d.json': `[${router('d')}]`,
      },
    });
    expect(lines).toEqual([]);
    expect(config?.routers.map(({ name }) => name)).toEqual(['main', 'a', 'b1', 'b2']);
  });

  it('lets the defaults of the main file hold for them, key by key', async () => {
    const { config } = await load(
      'defaults: { username: u, password: shared, labels: { site: x }, poll: { interval: 2m } }\nrouter_files: [r.yaml]',
      { files: { 'r.yaml': `[${router('a', 'password: own, poll: { timeout: 5s }')}]` } },
    );
    expect(config?.routers[0]).toMatchObject({
      username: 'u',
      labels: { site: 'x' },
      poll: { interval: 120_000, timeout: 5000 },
    });
    expect(config?.routers[0]?.password.reveal()).toBe('own');
  });

  it('refuses a folder that does not exist or cannot be listed, instead of removing its routers', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'router-exporter-'));
    await symlink('routers', join(folder, 'routers'));
    await writeFile(join(folder, 'main.yaml'), MAIN);
    const loaded = await loadConfig(join(folder, 'main.yaml'), {});
    expect(loaded.ok ? [] : loaded.faults.map(renderFault)).toEqual([
      `${folder}/main.yaml:2:16: router_files[0]: The folder ${folder}/routers cannot be listed (ELOOP)`,
    ]);
    await rm(join(folder, 'routers'));
    const gone = await loadConfig(join(folder, 'main.yaml'), {});
    expect(gone.ok ? [] : gone.faults.map(renderFault)).toEqual([
      `${folder}/main.yaml:2:16: router_files[0]: The folder ${folder}/routers does not exist; correct the glob, or create the folder`,
    ]);
    await rm(folder, { recursive: true });
  });

  it('starts relative paths at the folder of the file that they stand in, and fills in the environment', async () => {
    const { config, lines } = await load('router_files: ["*/*.yaml"]\ndefaults: { tls: { ca_file: ca.pem } }', {
      env: { USER_OF_A: 'someone' },
      files: {
        'ca.pem': CERTIFICATE,
        'routers/a.yaml': `[${router('a', 'username: "${USER_OF_A}", password_file: a.pw')}]`,
        'routers/a.pw': 'secret\n',
      },
    });
    expect(lines).toEqual([]);
    expect(config?.routers[0]).toMatchObject({ username: 'someone', tls: { ca_file: CERTIFICATE } });
    expect(config?.routers[0]?.password.reveal()).toBe('secret');
  });

  it('takes no router at all when files may bring some later, and warns of the glob and of the lack', async () => {
    const { config, lines, warnings, folder } = await load(MAIN, { files: { 'routers/a.yml': '[]' } });
    expect([lines, config?.routers]).toEqual([[], []]);
    expect(warnings?.map(renderFault)).toEqual([
      `${folder}/router-exporter.yaml:2:16: router_files[0]: No file matches "routers/*.yaml"; relative paths start at ${folder}. Correct it, unless the files are still to be written`,
      `${folder}/router-exporter.yaml:2:15: router_files: There is no router to poll: neither "routers" nor a file of "router_files" lists one`,
    ]);
  });

  it('warns of files without a router, unless there are others', async () => {
    const files = { 'routers/a.yaml': '[]' };
    expect((await load(MAIN, { files })).warnings).toMatchObject([{ line: 2, keyPath: 'router_files' }]);
    expect((await load(`${MAIN}routers: [${router('a')}]\n`, { files })).warnings).toEqual([]);
    const source =
      'router_sources: [{ name: list, type: file_sd, files: [a.json], allowed_addresses: ["127.0.0.1"] }]\n';
    const { warnings } = await load(MAIN + source, { files });
    expect(warnings?.map(({ keyPath }) => keyPath)).not.toContain('router_files');
  });

  it('lists the files to watch, with what was read', async () => {
    const text = MAIN.replace('["', '[other.yaml, "');
    const files = {
      'routers/a.yaml': `[${router('a')}]`,
      'routers/b.yaml': 'faulty',
      'other.yaml': `[${router('a')}]`,
    };
    const { watched, folder } = await load(text, { files });
    expect(watched.patterns).toEqual([join(folder, 'other.yaml'), join(folder, 'routers/*.yaml')]);
    const [other, a, b] = ['other.yaml', 'routers/a.yaml', 'routers/b.yaml'].map((name) =>
      watched.digests.get(join(folder, name)),
    );
    expect(watched.digests.size).toBe(3);
    expect(a).toMatch(/^[0-9a-f]{64}$/);
    expect(other).toBe(a);
    expect(b).not.toBe(a);
  });

  it('lists the files to watch of an invalid main file, and none of one that cannot be read', async () => {
    expect((await load(`${MAIN}x: 1`)).watched.patterns).toHaveLength(1);
    expect((await load('a: [')).watched).toEqual({ patterns: [], digests: new Map() });
  });

  it('reads a file once that two entries lead to', async () => {
    const { config, lines } = await load(MAIN.replace(']', ', "routers/a.*"]'), {
      files: { 'routers/a.yaml': `[${router('a')}]` },
    });
    expect([lines, config?.routers.length]).toEqual([[], 1]);
  });

  it('points at faults in their own file, after those of the main file', async () => {
    const { lines } = await load(`${MAIN}storag: {}\n`, {
      files: {
        'routers/a.yaml': `# a\n- ${router('a')}\n- nothing\n- { name: b, urll: "http://b", url: "http://b" }\n`,
        'routers/b.yaml': `- name: c\n  url: http://c\n  auth: token\n  poll: { interval: 10s, deadline: 20s }\n  password_file: none\n`,
      },
    });
    expect(lines).toEqual([
      'router-exporter.yaml:3:1: storag: Unknown key; did you mean "storage"?',
      'routers/a.yaml:3:3: [1]: Expected a map of keys; found "nothing"',
      'routers/a.yaml:4:14: [2].urll: Unknown key; did you mean "url"?',
      'routers/b.yaml:1:3: [0].username: Missing key; expected the account to log in with, here or in "defaults"',
      expect.stringMatching(/^routers\/b\.yaml:4:36: \[0\]\.poll\.deadline: poll\.deadline \(20s\) is longer than/),
      'routers/b.yaml:5:18: [0].password_file: The file named here does not exist; relative paths start at routers. Its name is not shown, because it may be the secret itself',
    ]);
  });

  it('refuses a name that is taken in another file, and names both places', async () => {
    const { lines } = await load(`${MAIN}routers: [${router('main')}]\n`, {
      files: {
        'routers/a.yaml': `- ${router('a')}\n- ${router('main')}\n- ${router('a')}\n`,
        'routers/b.yaml': `- ${router('a')}\n`,
      },
    });
    const needs = 'each of the routers needs a name of its own';
    expect(lines).toEqual([
      `routers/a.yaml:2:11: [1].name: The name "main" is already taken in router-exporter.yaml on line 3; ${needs}`,
      `routers/a.yaml:3:11: [2].name: The name "a" is already taken on line 1; ${needs}`,
      `routers/b.yaml:1:11: [0].name: The name "a" is already taken in routers/a.yaml on line 1; ${needs}`,
    ]);
  });

  it('warns of a device that an earlier router has too, unless it is reached another way or retired', async () => {
    const files = {
      'routers/a.yaml': `- { name: a, url: "https://plant:443/" }
- { name: b, url: "https://PLANT" }
- { name: c, url: "https://plant:8443" }
- { name: d, url: "https://plant", proxy: { url: "http://proxy" } }
- { name: e, url: "https://plant", source_address: 192.0.2.5 }
- { name: f, url: "https://plant", state: retired }
`,
      'routers/b.yaml': '- { name: g, url: "https://plant" }\n',
    };
    const { warnings, lines, folder } = await load(MAIN, { files });
    expect(lines).toEqual([]);
    const twice = 'has the same URL, so the device is polled twice and its logs are read twice';
    expect(warnings?.map((warning) => renderFault(warning).replaceAll(`${folder}/`, ''))).toEqual([
      `routers/a.yaml:2:19: [1].url: The router "a" on line 1 ${twice}`,
      `routers/b.yaml:1:19: [0].url: The router "a" in routers/a.yaml on line 1 ${twice}`,
    ]);
  });

  it.each([
    ['a map', 'name: a', `1:1: ${ROOT}; found a map`],
    ['text', 'hunter2', `1:1: ${ROOT}; found text`],
    ['nothing', '# soon\n', '1:1: The file is empty; write "[]" where there is no router'],
    ['broken YAML', '- {', '1:4: The indentation does not fit the lines above, or a bracket is not closed'],
  ])('refuses a file of %s', async (_, text, message) => {
    const { lines } = await load(MAIN, { files: { 'routers/a.yaml': text } });
    expect(lines).toEqual([`routers/a.yaml:${message}`]);
  });

  it('refuses a path whose file is missing, and a file that cannot be read', async () => {
    const { lines } = await load('router_files: [none.yaml, /nonexistent/x.yaml, sub, "sub/*"]', {
      files: { 'sub/a.yaml': Uint8Array.of(0xff), 'sub/deeper/b.yaml': '[]' },
    });
    expect(lines).toEqual([
      'router-exporter.yaml:1:16: router_files[0]: The file named here, "none.yaml", does not exist; relative paths start at FOLDER',
      'router-exporter.yaml:1:27: router_files[1]: The file named here, "/nonexistent/x.yaml", does not exist',
      'router-exporter.yaml:1:48: router_files[2]: The file sub, which is named here, is a folder',
      'router-exporter.yaml:1:53: router_files[3]: The file sub/a.yaml, which is named here, is not UTF-8 text',
    ]);
  });

  it.each([
    [
      '"**/*.yaml"',
      'router_files[0]: Expected a path or glob without "**"; write a "*" for each level of folders; found "**/*.yaml"',
    ],
    ['""', 'router_files[0]: Expected a path, or a glob such as "routers/*.yaml"; found ""'],
    ['7', 'router_files[0]: Expected a path, or a glob such as "routers/*.yaml"; found the number 7'],
  ])('refuses the entry %s', async (entry, message) => {
    expect((await load(`router_files: [${entry}]`)).lines).toEqual([`router-exporter.yaml:1:16: ${message}`]);
  });

  it('refuses more files than it would watch', async () => {
    const files = Object.fromEntries(Array.from({ length: 1001 }, (_, index) => [`r/${index}.yaml`, '[]']));
    expect((await load('router_files: ["r/*.yaml"]', { files })).lines).toEqual([
      'router-exporter.yaml:1:16: router_files[0]: More than 1000 files are named here and before',
    ]);
  });

  it('follows links, as Kubernetes lays out files, and does not read them twice', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'router-exporter-config-'));
    try {
      await mkdir(join(folder, 'routers/..2026_11_21'), { recursive: true });
      await writeFile(join(folder, 'routers/..2026_11_21/a.yaml'), `[${router('a')}]`);
      await symlink('..2026_11_21', join(folder, 'routers/..data'));
      await symlink('..data/a.yaml', join(folder, 'routers/a.yaml'));
      await symlink('nowhere', join(folder, 'routers/b.yaml'));
      const path = join(folder, 'router-exporter.yaml');
      await writeFile(path, 'defaults: { auth: none }\nrouter_files: ["routers/a*.yaml", "*/*/*.yaml"]\n');
      const loaded = await loadConfig(path, {});
      expect(loaded.ok && loaded.config.routers.map(({ name }) => name)).toEqual(['a']);
      await writeFile(path, MAIN);
      const broken = await loadConfig(path, {});
      expect(broken.ok ? [] : broken.faults.map(renderFault)).toEqual([
        `${path}:2:16: router_files[0]: The file ${folder}/routers/b.yaml, which is named here, does not exist`,
      ]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('names a file as the main file was named', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'router-exporter-config-'));
    try {
      await writeFile(join(folder, 'main.yaml'), 'router_files: [a.yaml]');
      await writeFile(join(folder, 'a.yaml'), '7');
      const name = relative(process.cwd(), join(folder, 'main.yaml'));
      const loaded = await loadConfig(name, {});
      expect(loaded.ok ? [] : loaded.faults.map(({ file }) => file)).toEqual([name.replace('main', 'a')]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('loads 5,000 routers from files, all with the same modules', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 10 }, (_, file) => [
        `routers/${file}.yaml`,
        Array.from({ length: 500 }, (__, index) => `- ${router(`r${file}-${index}`, 'modules: [default]')}\n`).join(''),
      ]),
    );
    const { config } = await load(MAIN, { files });
    expect(config?.routers).toHaveLength(5000);
    expect(new Set(config?.routers.map(({ modules }) => modules)).size).toBe(1);
  });

  it('still wants a router or a list of files', async () => {
    expect((await load('router_files: nothing')).lines).toEqual([
      'router-exporter.yaml:1:15: router_files: Expected a list of at most 100 paths or globs; found "nothing"',
    ]);
    expect((await load(withRouter('').replace('routers:', 'router_files: []\nrouters:'))).lines).toEqual([]);
  });

  it('refuses "tls" of a router that is asked without it, and leaves that of defaults to the others', async () => {
    const main =
      'router_files: [r.yaml]\ndefaults: { username: u, password: p, tls: { insecure_skip_verify: true } }\n';
    const idle = '- name: a\n  url: http://a\n  tls:\n    insecure_skip_verify: true\n- { name: b, url: "http://b" }\n';
    const { lines } = await load(main, { files: { 'r.yaml': idle } });
    expect(lines).toEqual([
      'r.yaml:3:3: [0].tls: "tls" has no effect here, because "url" begins with http://; write https://, or remove "tls"',
    ]);
    const { config } = await load(main, { files: { 'r.yaml': '- { name: b, url: "http://b" }' } });
    expect(config?.routers).toHaveLength(1);
  });
});
