import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { parse } from 'yaml';
import { createLoki } from '../receivers/loki-server.ts';
import { PROGRAM, type Program, startProgram } from '../support/child.ts';
import { findFreePort } from '../support/free-port.ts';
import { startPrometheus } from '../support/prometheus-server.ts';
import { withPrograms } from '../support/tools.ts';
import { PROJECT, parsePage } from './read-pages.ts';

const PAGE = 'docs/first-fleet.md';
const { blocks } = parsePage(PAGE, readFileSync(join(PROJECT, PAGE), 'utf8'));
const ROUTERS = 40;
const PATIENCE = { timeout: 60_000, interval: 200 };

withPrograms(['curl', 'grafana-loki', 'jq', 'prometheus'], test)(
  'the page of the first fleet, followed with 40 simulated routers, ends with them in Prometheus and their lines in Loki',
  { timeout: 240_000 },
  async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-first-fleet-'));
    const write = (name: string, text: string) => writeFileSync(join(folder.path, name), text);
    const count = ['--routers', String(ROUTERS), '--listen', '127.0.0.1:0', '--ca-out', 'device-ca.pem'];
    await using simulated = startProgram(process.execPath, [PROGRAM, 'simulate', ...count], {}, folder.path);
    await simulated.waitFor('stdout', /Ctrl-C ends/);
    const addresses = [...simulated.stdout.matchAll(/https:\/\/(\S+) /g)].map(([, address]) => address ?? '');
    expect(addresses).toHaveLength(ROUTERS);
    // As systemd passes it to the service.
    const env = { CREDENTIALS_DIRECTORY: folder.path };
    await using loki = await createLoki();
    await loki.start();
    const agentPort = await findFreePort();
    const adapt = (text: string) =>
      text
        .replaceAll('http://loki.example.net:3100', loki.url)
        .replaceAll('localhost:9847', `127.0.0.1:${agentPort}`)
        .replaceAll('cat > router-password', 'echo simulated > router-password')
        // The list of a rehearsal: its routers are those of the list already.
        .replace(
          /^(\(echo name.*) > routers\.csv\n/,
          '$1 > rehearsal.csv; router-exporter import --csv rehearsal.csv\n',
        );

    await using programs = new AsyncDisposableStack();
    const bash = (script: string): Program => {
      const call = `router-exporter() { "${process.execPath}" "${PROGRAM}" "$@"; }\n${script}`;
      return programs.use(startProgram('bash', ['-ec', call], env, folder.path));
    };
    let prometheus: Awaited<ReturnType<typeof startPrometheus>> | undefined;
    const done: string[] = [];
    for (const { language, text } of blocks) {
      const adapted = adapt(text);
      if (language === 'csv') {
        const [header = '', ...rows] = text.trimEnd().split('\n');
        const given = addresses.map((address, index) =>
          rows[index % rows.length]?.replace(/^[^,]*,[^,]*/, `plant-${index + 1},${address}`),
        );
        write('routers.csv', [header, ...given, ''].join('\n'));
      } else if (language === 'yaml' && adapted.startsWith('scrape_configs')) {
        const {
          scrape_configs: [job],
        } = parse(adapted) as { scrape_configs: [object] };
        prometheus = programs.use(await startPrometheus({ ...job, scrape_interval: '1s' }));
      } else if (language === 'yaml') {
        write('router-exporter.yaml', adapted);
      } else if (text === 'router-exporter run --storage.path /tmp/first-look\n') {
        const run = [PROGRAM, 'run', '--web.listen-address', `127.0.0.1:${agentPort}`];
        const agent = programs.use(startProgram(process.execPath, run, env, folder.path));
        await agent.waitFor('stderr', /"Started"/);
      } else if (language === 'sh') {
        const look = async () => {
          const { code, stdout, stderr } = await bash(adapted).ended;
          expect(code, `${text}\n${stdout}${stderr}`).toBe(0);
          if (text.startsWith('curl')) expect(stdout).toContain('"values"');
        };
        await (text.startsWith('curl') ? vi.waitFor(look, PATIENCE) : look());
      } else if (text.startsWith('count(')) {
        await expect.poll(() => prometheus?.count(text), PATIENCE).toBe(ROUTERS);
      }
      done.push(language);
    }
    expect(done.filter((language) => language === 'sh')).toHaveLength(6);
    expect(await prometheus?.count('count(router_up{site=~"munich|hamburg"} == 1)')).toBe(ROUTERS);
  },
);
