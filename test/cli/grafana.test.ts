import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, test, vi } from 'vitest';
import { GRAFANA_TOKEN, openGrafana } from '../support/grafana-server.ts';
import { runCommand } from './run-command.ts';

const UIDS = ['agent', 'cellular', 'fleet', 'logs', 'router'].map((name) => `router-exporter-${name}`);

const importInto = (url: string, ...flags: readonly string[]) => runCommand(['grafana', 'import', url, ...flags]);

describe('grafana import', () => {
  beforeEach(() => void vi.stubEnv('GRAFANA_TOKEN', `${GRAFANA_TOKEN}\n`));
  afterEach(() => void vi.unstubAllEnvs());

  it('creates the folder and the dashboards, with the token of the environment, and prints their addresses', async () => {
    await using grafana = await openGrafana({ path: '/monitoring' });
    const end = await importInto(`${grafana.url}/`);
    expect(end).toMatchObject({ code: 0, stderr: '' });
    expect(end.stdout).toContain(`Routers / Fleet: ${grafana.url}/d/router-exporter-fleet\n`);
    expect(end.stdout.trimEnd().split('\n')).toHaveLength(UIDS.length);
    expect([...grafana.folders]).toEqual([['router-exporter', 'Routers']]);
    expect([...grafana.dashboards.keys()]).toEqual(UIDS);
    expect([...grafana.accounts]).toEqual([`Bearer ${GRAFANA_TOKEN}`]);
  });

  it('changes nothing that is there already, unless it may overwrite', async () => {
    await using grafana = await openGrafana();
    await importInto(grafana.url);
    const again = await importInto(grafana.url);
    expect(again).toMatchObject({ code: 1, stdout: '' });
    expect(again.stderr).toMatch(
      /^Grafana did not take the dashboard "Routers \/ Agent": status 412, \{.*already exists.*If it is there already, --overwrite replaces it\n$/,
    );
    expect([...grafana.dashboards.values()].map(({ version }) => version)).toEqual([1, 1, 1, 1, 1]);
    expect((await importInto(grafana.url, '--overwrite')).code).toBe(0);
    expect([...grafana.dashboards.values()].map(({ version }) => version)).toEqual([2, 2, 2, 2, 2]);
  });

  it('puts them into a folder that is there, and sets the data sources that they start with', async () => {
    await using grafana = await openGrafana({ role: 'folder alone' });
    grafana.folders.set('plants', 'Plants');
    const end = await importInto(grafana.url, '--folder-uid', 'plants', '--prometheus', 'P1', '--loki', 'L1');
    expect(end).toMatchObject({ code: 0, stderr: '' });
    const stored = [...grafana.dashboards.values()];
    expect(new Set(stored.map(({ folderUid }) => folderUid))).toEqual(new Set(['plants']));
    const chosen = stored.map(({ dashboard: { uid, templating } }) => [
      uid,
      ...templating.list.flatMap(({ name, current }) => (/^(datasource|loki)$/.test(name) ? [current] : [])),
    ]);
    const [metrics, lines] = ['P1', 'L1'].map((uid) => ({ text: uid, value: uid }));
    expect(chosen).toContainEqual(['router-exporter-fleet', metrics]);
    expect(chosen).toContainEqual(['router-exporter-logs', metrics, lines]);
  });

  it('takes a token or an account from files before that of the environment', async () => {
    await using grafana = await openGrafana();
    await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-grafana-'));
    vi.stubEnv('GRAFANA_TOKEN', 'glsa_of-another');
    const [token, password] = [join(folder.path, 'token'), join(folder.path, 'password')];
    await writeFile(token, `${GRAFANA_TOKEN}\n`);
    await writeFile(password, 'secret-of-admin\n');
    expect((await importInto(grafana.url, '--token-file', token)).code).toBe(0);
    const flags = ['--username', 'admin', '--password-file', password, '--overwrite'];
    expect((await importInto(grafana.url, ...flags)).code).toBe(0);
  });

  test.for([
    ['no token', {}, '', 'Grafana refused the request: {"message":"Invalid API key"}. Log in with --token-file'],
    [
      'another token',
      {},
      'glsa_x',
      'Grafana refused the request: {"message":"Invalid API key"}. Check what was given with',
    ],
    ['a viewer', { role: 'Viewer' }, GRAFANA_TOKEN, 'The service account needs the role Editor; or name a folder'],
    ['no right to create folders', { role: 'folder alone' }, GRAFANA_TOKEN, 'to with --folder-uid'],
    ['another path', { path: '/monitoring' }, GRAFANA_TOKEN, 'status 404, {"message":"Not found"}. Check the address,'],
  ] as const)('says what to do: %s', async ([, options, token, message]) => {
    await using grafana = await openGrafana(options);
    vi.stubEnv('GRAFANA_TOKEN', token);
    const end = await importInto(new URL(grafana.url).origin);
    expect(end).toMatchObject({ code: 1, stdout: '' });
    expect(end.stderr).toContain(message);
    expect(end.stderr).not.toContain('glsa');
  });

  it('says what to do: a folder that is not there, a redirect, no server, and no address', async () => {
    await using grafana = await openGrafana();
    const missing = await importInto(grafana.url, '--folder-uid', 'none');
    expect(missing.stderr).toContain('status 400, {"message":"folder not found"}. Check the address');
    grafana.answer = (_request, response) => response.writeHead(302, { location: '/login' }).end('\u001b[31mlogin');
    const redirected = await importInto(grafana.url);
    expect(redirected.stderr).toBe(
      'Grafana did not take the folder: status 302, [31mlogin. Check the address, with its path (redirects are not followed), and --folder-uid\n',
    );
    await grafana[Symbol.asyncDispose]();
    const gone = await importInto(grafana.url);
    expect(gone).toMatchObject({ code: 1 });
    expect(gone.stderr).toContain(`Grafana at ${grafana.url} could not be reached: connect ECONNREFUSED`);
    const wrong = await importInto('https://admin:secret-of-admin@grafana.example.com');
    expect(wrong).toMatchObject({ code: 2 });
    expect(wrong.stderr).toContain('url: Expected the address of Grafana such as https://grafana.example.com');
    expect(wrong.stderr).not.toContain('secret-of-admin');
  });
});
