// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts under test refer to variables.
import { describe, expect, it } from 'vitest';
import { Secret } from '../../src/base/index.ts';
import { renderEffectiveConfig } from '../../src/config/index.ts';
import { load, withRouter } from './configuration-folder.ts';

const SECRET = 'hunter2hunter2';
const withForm = (form: string) => withRouter().replace('password: pw', form);
/** Writes its last argument. */
const COMMAND = `[${process.execPath}, -p, "process.argv[1]", "--", ${SECRET}]`;

describe('loadConfig() on the forms of a secret', () => {
  it.each([
    ['a file', 'password: { file: pw }'],
    ['a file, in short', 'password_file: pw'],
    ['a credential of systemd', 'password_file: "${CREDENTIALS_DIRECTORY}/pw"'],
    ['a command', `password: { command: ${COMMAND} }`],
  ])('reads it from %s, for routers, sinks and tokens', async (_, form) => {
    const named = (name: string) => form.replace('password', name);
    const { config, lines, folder } = await load(
      `web: { access: { tokens: [{ name: a, role: read, ${named('token')} }] } }
sinks:
  - { name: a, type: loki, url: "https://a", username: u, ${form} }
  - { name: b, type: loki, url: "https://a", ${named('bearer_token')} }
  - { name: c, type: elasticsearch, url: "https://a", ${named('api_key')} }
${withForm(form)}`,
      { files: { pw: `${SECRET}\n`, 'credentials/pw': SECRET }, credentials: 'credentials' },
    );
    expect(lines).toEqual([]);
    expect(folder).not.toBe('');
    const [a, b, c] = config?.sinks.map((sink) => Object.values(sink).find((value) => value instanceof Secret)) ?? [];
    const secrets = [config?.routers[0]?.password, config?.web.access?.tokens?.[0]?.token, a, b, c];
    expect(secrets.map((secret) => secret?.reveal())).toEqual([SECRET, SECRET, SECRET, SECRET, SECRET]);
    const shown = config ? renderEffectiveConfig(config) : '';
    expect(shown.match(/"?\[secret\]"?/g)?.length).toBe(4);
    expect(shown).not.toContain(SECRET);
  });

  it('lets one form of a router replace another form of defaults', async () => {
    const { config } = await load(
      `defaults: { username: u, password: { command: ${COMMAND} } }\nrouters:\n- { name: a, url: "https://a" }\n- { name: b, url: "https://b", password: own-password }\n- { name: c, url: "https://c", password_file: pw }`,
      { files: { pw: 'of-a-file' } },
    );
    expect(config?.routers.map(({ password }) => password.reveal())).toEqual([SECRET, 'own-password', 'of-a-file']);
  });

  it('reads the values of headers in every form', async () => {
    const { config, lines } = await load(
      withForm(
        `auth: none\n    headers: { A: literal, B: { file: pw }, C: { command: ${COMMAND} } }\n    header_files: { D: pw }`,
      ),
      { files: { pw: `of-a-file\n` } },
    );
    expect(lines).toEqual([]);
    const headers = Object.entries(config?.routers[0]?.headers ?? {});
    expect(headers.map(([name, value]) => [name, value.reveal()])).toEqual([
      ['A', 'literal'],
      ['B', 'of-a-file'],
      ['C', SECRET],
      ['D', 'of-a-file'],
    ]);
  });

  it.each([
    [
      'password_file: "${CREDENTIALS_DIRECTORY}/pw"',
      'variable CREDENTIALS_DIRECTORY is not set; systemd sets it for a service with LoadCredential=',
    ],
    ['password: { file: "${FOLDER}/pw" }', 'variable FOLDER is not set; set it, or write ${FOLDER:-default}'],
    ['password: { command: ["${PROGRAM}", a] }', 'variable PROGRAM is not set; set it, or write ${PROGRAM:-default}'],
    ['password: {}', 'Expected either "file" or "command"; found a map'],
    ['password: { file: a, command: [b] }', 'Expected either "file" or "command"; found a map'],
    ['password: [a]', 'or { command: [program, …] }; found a list of 1'],
    ['password: { path: a }', 'Unknown key; valid here: file, command'],
    ['password: { file: 7 }', 'Expected text of 1 to 4096 characters (a number needs quotes); found a number'],
    ['password: { command: pass show x }', 'Expected a list of a program and its arguments'],
    ['password: { command: [] }', 'Expected a list of a program and its arguments'],
    [
      'password: { command: [/nonexistent/program] }',
      'The command cannot be run (ENOENT); it is run without a shell, in ',
    ],
    [
      `password: { command: [${process.execPath}, -e, ""] }`,
      'Expected a command that writes the password; found an empty one',
    ],
    ['password_credential: pw', 'There is no such key any more; write "password_file: ${CREDENTIALS_DIRECTORY}/NAME"'],
    ['password_command: [a]', 'There is no such key any more; write "password: { command: [program, argument] }"'],
  ])('refuses %s', async (form, message) => {
    const { lines } = await load(withForm(form));
    const line = lines.find((one) => one.includes(message));
    expect(line).toMatch(/^router-exporter\.yaml:5:\d+: routers\[0\]\.password/);
  });

  it('says of an unset variable in a form nothing else', async () => {
    const { lines } = await load(withForm('password: { file: "${FOLDER}/pw" }'));
    expect(lines).toEqual([
      'router-exporter.yaml:5:23: routers[0].password.file: The environment variable FOLDER is not set; set it, or write ${FOLDER:-default}',
    ]);
  });

  it.each(['password_credential: pw', 'password_command: [a]'])(
    'says of the removed form %s of defaults nothing at each router',
    async (form) => {
      const { lines } = await load(
        `defaults: { username: u, ${form} }\nrouters:\n- { name: a, url: "https://a" }\n- { name: b, url: "https://b" }`,
      );
      expect(lines).toEqual([expect.stringContaining(': There is no such key any more; write "password')]);
    },
  );

  it('refuses two forms at once', async () => {
    const { lines } = await load(withForm('password: { command: [a] }\n    password_file: pw'), { files: { pw: 'x' } });
    expect(lines).toContainEqual(expect.stringContaining('Both "password" and "password_file" are set; keep one'));
  });

  it('runs no command that a file of routers names', async () => {
    const routers = `- { name: a, url: "https://a", username: u, password: { command: [${process.execPath}, -e, "process.exit(0)"] } }`;
    const { lines } = await load('router_files: [r.yaml]', { files: { 'r.yaml': routers } });
    expect(lines).toEqual([
      'r.yaml:1:57: [0].password.command: Commands are legal in the main file only: otherwise, anyone who may list routers could run programs here',
    ]);
  });

  it('repeats no command, which may be a password that was written as one', async () => {
    const { lines } = await load(withForm(`password: { command: [${SECRET}] }`));
    expect(lines).toHaveLength(1);
    expect(lines[0]).not.toContain(SECRET);
  });
});
