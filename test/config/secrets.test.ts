// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts under test refer to variables.
import { inspect } from 'node:util';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countRuns } from '../support/sampled.ts';
import { load, withRouter } from './configuration-folder.ts';

const SECRET = 'hunter2hunter2';
/** What follows "The file named here", without the name. */
const HIDDEN = ' does not exist';

/** Every text that a person could get to see of an outcome. */
function textOf(outcome: Awaited<ReturnType<typeof load>>): string {
  const { config, faults, lines } = outcome;
  return [
    JSON.stringify(config),
    inspect(config, { depth: 9, showHidden: true }),
    JSON.stringify(faults),
    ...lines,
  ].join('\n');
}

describe('loadConfig() on secrets', () => {
  it('keeps a password out of every string form of the configuration', async () => {
    const outcome = await load(
      `routers:
  - { name: a, url: "http://a", username: u, password: ${SECRET} }
  - { name: b, url: "http://b", username: u, password_file: pw }
  - { name: c, url: "http://c", username: u, password: "\${PW}" }`,
      { files: { pw: SECRET }, env: { PW: SECRET } },
    );
    expect(outcome.config?.routers.map((router) => router.password.reveal())).toEqual([SECRET, SECRET, SECRET]);
    expect(textOf(outcome)).not.toContain(SECRET);
    expect(textOf(outcome)).toContain('[secret]');
  });

  it.each([
    ['of a number', '77345612', '77345612'],
    ['of a list', `[${SECRET}]`, SECRET],
    ['of a map', `{ ${SECRET}: 1 }`, SECRET],
    ['with a NUL', `"${SECRET}\\0"`, SECRET],
    ['with half a reference', `"\${${SECRET}"`, SECRET],
    ['with what looks like a reference', `"a\${${SECRET}}"`, SECRET],
    ['after a tag', `!vault ${SECRET}`, SECRET],
    ['as an alias', `*${SECRET}`, SECRET],
    ['as an anchor', `&${SECRET}`, SECRET],
    ['in an open quote', `"${SECRET}`, SECRET],
    ['with a colon', `${SECRET}: x`, SECRET],
    ['that is too long', SECRET.repeat(400), SECRET],
  ])('refuses a password %s without repeating it', async (_, value, hidden) => {
    const outcome = await load(`routers:\n  - name: a\n    url: http://a\n    username: u\n    password: ${value}\n`);
    expect(outcome.faults).not.toEqual([]);
    expect(textOf(outcome)).not.toContain(hidden);
  });

  it('does not repeat a password that was written as the name of its file, or into the URL', async () => {
    for (const line of [`password_file: ${SECRET}`, `password_file: [${SECRET}]`]) {
      const outcome = await load(`routers: [{ name: a, url: "http://u:${SECRET}@a", username: u, ${line} }]`);
      expect(outcome.faults).toHaveLength(2);
      expect(textOf(outcome)).not.toContain(SECRET);
    }
  });

  it.each([
    ['${DIR}/pw', ', "${DIR}/pw" (before the environment was filled in), does not exist'],
    ['${DIR}/a/b-1.pw', ', "${DIR}/a/b-1.pw" (before the environment was filled in), does not exist'],
    ['/etc/router-exporter/plant-7', ', "/etc/router-exporter/plant-7", does not exist'],
    ['../passwords/plant_7', ', "../passwords/plant_7", does not exist; relative paths start at FOLDER'],
    ['plant-7.pw', ', "plant-7.pw", does not exist; relative paths start at FOLDER'],
    // A password that was written here by mistake may have such a part.
    [`${SECRET}\${DIR}`, HIDDEN],
    [`Zq3/${SECRET}`, HIDDEN],
    [`/Zq3/${SECRET}`, HIDDEN],
    [`\${DIR}${SECRET}`, HIDDEN],
    [`\${DIR}/${SECRET}:x`, HIDDEN],
  ])(
    'names the file of a password that is surely a path, without what a variable stands for: %s',
    async (written, expected) => {
      const { lines } = await load(
        `routers: [{ name: a, url: "http://a", username: u, password_file: "${written}" }]`,
        {
          env: { DIR: `/nonexistent/${SECRET}` },
        },
      );
      expect(lines).toEqual([expect.stringContaining(`routers[0].password_file: The file named here${expected}`)]);
      expect(lines.join()).not.toContain(SECRET);
    },
  );

  it('names the files of keys, tokens and proxies as well', async () => {
    const { lines } = await load(
      withRouter('tls: { cert_file: c.pem, key_file: c.key }\nproxy: { url: "https://proxy", ca_file: ca.pem }'),
    );
    expect(lines.map((line) => line.replace(/^.*named here/, ''))).toEqual(
      ['c.pem', 'c.key', 'ca.pem'].map((name) => `, "${name}", does not exist; relative paths start at FOLDER`),
    );
  });

  it.each([
    ['no space behind its colon', ':', '1:52: routers[0].…: Unknown key; valid here: '],
    ['a comma instead of its colon', ', ', '1:62: routers[0].…: Unknown key; valid here: '],
  ])('does not repeat a password that has %s', async (_, separator, expected) => {
    const outcome = await load(`routers: [{ name: a, url: "http://a", username: u, password${separator}${SECRET} }]`);
    expect(outcome.lines.at(-1)).toContain(expected);
    expect(textOf(outcome)).not.toContain(SECRET);
  });

  it('cuts a faulty key at its first unusual character', async () => {
    const outcome = await load(withRouter(`? "password:${SECRET}"\n: x`));
    expect(outcome.lines).toEqual([expect.stringContaining('routers[0].password…: Unknown key')]);
    expect(textOf(outcome)).not.toContain(SECRET);
  });

  it('does not repeat what a password file holds', async () => {
    for (const content of [`${SECRET}\0\n`, SECRET.repeat(400), Buffer.from(`${SECRET}\xff`, 'latin1')]) {
      const outcome = await load(withRouter('').replace('password: pw', 'password_file: pw'), {
        files: { pw: content },
      });
      expect(textOf(outcome)).not.toContain(SECRET);
    }
  });

  it('does not repeat a password wherever one character of the file is wrong', async () => {
    const text =
      `defaults: { username: u, password: ${SECRET}, poll: { interval: 60s } }\n${withRouter(`labels:\n  site: "x"\ntls:\n  server_name: \${A}`)}`.replace(
        'password: pw',
        `password: ${SECRET}`,
      );
    const characters = fc.constantFrom(...' :-"\'#&*!|>%@`[]{},?\t\n\\$~<=0a'.split(''), '');
    const starts = fc.integer({ min: 0, max: text.length - 1 });
    await fc.assert(
      fc.asyncProperty(starts, fc.boolean(), characters, async (start, isInserted, character) => {
        const broken = text.slice(0, start) + character + text.slice(isInserted ? start : start + 1);
        // A mistake inside the password makes another password, whose pieces are not searched for here.
        expect(textOf(await load(broken, { env: { A: 'x' } }))).not.toContain(SECRET);
      }),
      { numRuns: countRuns(500) },
    );
  });

  it.each([
    ['of a list', `[{ name: a, url: "http://u:${SECRET}@a", username: u, password: [${SECRET}] }]`],
    ['with no space behind its colon', `[{ name: a, url: "http://a", username: u, password:${SECRET} }]`],
    ['with a comma instead of its colon', `[{ name: a, url: "http://a", username: u, password, ${SECRET} }]`],
    ['after a tag', `- password: !vault ${SECRET}`],
    ['with half a reference', `- password: "\${${SECRET}"`],
    ['that is the name of its file', `[{ name: a, url: "http://a", username: u, password_file: ${SECRET} }]`],
    ['that is the whole file', SECRET],
    ['that is the whole file, in quotes', `"${SECRET}"`],
  ])('does not repeat a password %s in a file of routers', async (_, text) => {
    const outcome = await load('router_files: [r.yaml]\nmodule_files: [r.yaml]', { files: { 'r.yaml': text } });
    expect(outcome.faults.filter(({ file }) => file.endsWith('r.yaml'))).not.toEqual([]);
    expect(textOf(outcome)).not.toContain(SECRET);
  });

  it('does not repeat a password of a file of routers wherever one character of it is wrong', async () => {
    const text = `- { name: a, url: "https://a", username: u, password: ${SECRET}, poll: { interval: 60s } }
- name: b
  url: https://b
  username: u
  password: ${SECRET}
  labels: { site: x }
  modules: [default]
`;
    const characters = fc.constantFrom(...' :-"\'#&*!|>%@`[]{},?\t\n\\$~<=0a'.split(''), '');
    const starts = fc.integer({ min: 0, max: text.length - 1 });
    await fc.assert(
      fc.asyncProperty(starts, fc.boolean(), characters, async (start, isInserted, character) => {
        const broken = text.slice(0, start) + character + text.slice(isInserted ? start : start + 1);
        const outcome = await load('router_files: [r.yaml]', { files: { 'r.yaml': broken } });
        expect(textOf(outcome)).not.toContain(SECRET);
      }),
      { numRuns: countRuns(300) },
    );
  });
});
