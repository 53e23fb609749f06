import { describe, expect, it } from 'vitest';
import { renderEffectiveConfig } from '../../../src/config/index.ts';
import { load, withRouter } from '../configuration-folder.ts';
import { HASH } from './web-config-folder.ts';

const TOKEN = 'f00dfeedcafe0123';
const FILES = { 'web.yaml': `basic_auth_users: { alice: "${HASH}" }`, 'scraper.token': `${TOKEN}\n` };

const loadAccess = (access: string, files: Record<string, string> = FILES) =>
  load(`web:\n  config_file: web.yaml\n  access:\n${access}\n${withRouter()}`, { files });

describe('loadConfig() on web.access', () => {
  it('reads roles of users, and tokens here and in files', async () => {
    const { config, lines, watched } = await loadAccess(`    open_health: true
    users: { alice: metrics }
    tokens:
      - { name: prometheus, role: metrics, token_file: scraper.token }
      - { name: operator, role: admin, token: "${TOKEN}0" }`);
    expect(lines).toEqual([]);
    const { access } = config?.web ?? {};
    expect([access?.open_health, access?.users]).toEqual([true, { alice: 'metrics' }]);
    expect(access?.tokens?.map(({ name, role, token }) => [name, role, token?.reveal()])).toEqual([
      ['prometheus', 'metrics', TOKEN],
      ['operator', 'admin', `${TOKEN}0`],
    ]);
    expect(watched.patterns.map((path) => path.split('/').at(-1))).toEqual(['web.yaml']);
    const shown = config ? renderEffectiveConfig(config) : '';
    expect(shown).toContain('token: "[secret]"');
    expect(shown + JSON.stringify(config)).not.toContain(TOKEN);
  });

  it('reports all faults, and repeats no token', async () => {
    const { lines } = await loadAccess(`    open_helth: true
    users: { alise: metrics, alice: reader }
    tokens:
      - { name: a, role: metrics }
      - { name: a, role: metrics, token: "${TOKEN}", token_file: scraper.token }
      - { name: b, role: metrics, token: "short" }
      - { name: c, role: metrics, token: "${TOKEN} with a blank" }
      - { name: d, role: metrics, token_file: none.token }
      - { role: metrics, token: "${TOKEN}" }`);
    expect(lines).toEqual([
      expect.stringContaining('web.access.open_helth: Unknown key; did you mean "open_health"?'),
      expect.stringContaining(
        'web.access.users.alise: No user of this name is in "config_file"; did you mean "alice"?',
      ),
      expect.stringMatching(/web\.access\.users\.alice: Expected "metrics", "read" or "admin"; found "reader"/),
      expect.stringContaining('web.access.tokens[0].token: Missing key; expected "token" or "token_file"'),
      expect.stringContaining('web.access.tokens[1].name: The name "a" is already taken by an earlier token'),
      expect.stringContaining('web.access.tokens[1].token_file: Both "token" and "token_file" are set'),
      expect.stringContaining('web.access.tokens[2].token: Expected a token of 8 to 4096 printable ASCII characters'),
      expect.stringContaining('web.access.tokens[3].token: Expected a token of 8 to 4096 printable ASCII characters'),
      expect.stringContaining('web.access.tokens[4].token_file: The file named here'),
      expect.stringContaining('web.access.tokens[5].name: Missing key'),
    ]);
    expect(lines.join()).not.toContain(TOKEN);
  });

  it('warns of two tokens of one value, and of users whom no file names', async () => {
    const { warnings = [] } = await load(
      `web:
  access:
    users: { bob: metrics }
    tokens:
      - { name: scraper, role: metrics, token_file: scraper.token }
      - { name: operator, role: admin, token: "${TOKEN}" }
${withRouter()}`,
      { files: FILES },
    );
    expect(warnings.map(({ keyPath, message }) => `${keyPath}: ${message}`)).toEqual([
      'web.access.tokens[1]: The token has the same value as "scraper", whose role counts for both',
      'web.access.users.bob: No user has this name without "config_file" or --web.config.file',
    ]);
  });

  it('refuses a file that holds no token', async () => {
    const { lines } = await loadAccess('    tokens: [{ name: a, role: read, token_file: scraper.token }]', {
      ...FILES,
      'scraper.token': 'two words\n',
    });
    expect(lines).toEqual([
      expect.stringContaining('web.access.tokens[0].token_file: Expected a file that holds a token'),
    ]);
  });
});
