import { describe, expect, it } from 'vitest';
import { renderEffectiveConfig } from '../../src/config/index.ts';
import { load, withRouter } from './configuration-folder.ts';

const SECRET = 'hunter2hunter2';
const withForm = (form: string) => withRouter().replace('password: pw', form);
/** Writes its last argument. */
const COMMAND = `[${process.execPath}, -p, "process.argv[1]", "--", ${SECRET}]`;

describe('loadConfig() on the forms of a secret', () => {
  it.each([
    ['a file', 'password_file: pw'],
    ['a credential of systemd', 'password_credential: pw'],
    ['a command', `password_command: ${COMMAND}`],
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
    const auths = config?.sinks.map((sink) => ('auth' in sink ? sink.auth : undefined)) ?? [];
    const secrets = [config?.routers[0]?.password, config?.web.access?.tokens[0]?.token];
    expect(secrets.map((secret) => secret?.reveal())).toEqual([SECRET, SECRET]);
    expect(auths).toMatchObject([{ kind: 'basic' }, { kind: 'bearer' }, { kind: 'api-key' }]);
    const shown = config ? renderEffectiveConfig(config) : '';
    expect(shown.match(/"?\[secret\]"?/g)?.length).toBe(4);
    expect(shown).not.toContain(SECRET);
  });

  it('lets one form of a router replace another form of defaults', async () => {
    const { config } = await load(
      `defaults: { username: u, password_command: ${COMMAND} }\nrouters:\n- { name: a, url: "https://a" }\n- { name: b, url: "https://b", password: own-password }`,
    );
    expect(config?.routers.map(({ password }) => password.reveal())).toEqual([SECRET, 'own-password']);
  });

  it.each([
    ['password_credential: pw', 'There are no credentials: systemd sets CREDENTIALS_DIRECTORY for a service'],
    ['password_credential: ../pw', 'Expected the name of a credential: letters, digits'],
    ['password_command: pass show x', 'Expected a list of a program and its arguments'],
    ['password_command: []', 'Expected a list of a program and its arguments'],
    ['password_command: [/nonexistent/program]', 'The command cannot be run (ENOENT); it is run without a shell, in '],
    [
      `password_command: [${process.execPath}, -e, ""]`,
      'Expected a command that writes the password; found an empty one',
    ],
  ])('refuses %s', async (form, message) => {
    const { lines } = await load(withForm(form));
    expect(lines).toEqual([expect.stringContaining(message)]);
    expect(lines[0]).toMatch(/^router-exporter\.yaml:5:\d+: routers\[0\]\.password_/);
  });

  it('says that a credential does not exist', async () => {
    const { lines } = await load(withForm('password_credential: pw'), { credentials: 'credentials' });
    expect(lines).toEqual([
      expect.stringContaining('password_credential: The credential named here does not exist (credentials)'),
    ]);
  });

  it('refuses two forms at once', async () => {
    const { lines } = await load(withForm('password: x\n    password_command: [a]\n    password_credential: b'), {});
    expect(lines.filter((line) => line.includes('keep one of them'))).toEqual([
      expect.stringContaining('Both "password" and "password_command" are set'),
      expect.stringContaining('Both "password" and "password_credential" are set'),
    ]);
  });

  it('runs no command that a file of routers names', async () => {
    const routers = `- { name: a, url: "https://a", username: u, password_command: [${process.execPath}, -e, "process.exit(0)"] }`;
    const { lines } = await load('router_files: [r.yaml]', { files: { 'r.yaml': routers } });
    expect(lines).toEqual([
      'r.yaml:1:45: [0].password_command: Commands are legal in the main file only: otherwise, whoever may list routers could run programs here',
    ]);
  });

  it('repeats no command, which may be a password that was written as one', async () => {
    const { lines } = await load(withForm(`password_command: [${SECRET}]`));
    expect(lines).toHaveLength(1);
    expect(lines[0]).not.toContain(SECRET);
  });
});
