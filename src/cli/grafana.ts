import { readdirSync, readFileSync } from 'node:fs';
import { readEnvironment } from '../config/index.ts';
import { sanitizeErrorText } from '../net/index.ts';
import { type AgentFlags, askAgent, type NamedServer } from './support/agent-client.ts';
import { type CommandIo, EXIT, type ExitCode, writeResult } from './support/io.ts';

interface GrafanaFlags extends AgentFlags {
  /** Folder that is there already. Default: {@link FOLDER}, which is created. */
  readonly folderUid?: string | undefined;
  /** Data sources that the dashboards start with. Default: those that Grafana chooses. */
  readonly prometheus?: string | undefined;
  readonly loki?: string | undefined;
  readonly overwrite?: boolean | undefined;
}

interface Dashboard {
  readonly title: string;
  readonly uid: string;
  readonly templating: { readonly list: readonly { readonly name: string; current?: object }[] };
}

/** In the package, next to the bundle. */
const DASHBOARDS = new URL(
  import.meta.url.endsWith('.ts') ? '../../dashboards/json/' : './dashboards/',
  import.meta.url,
);
const FOLDER = { uid: 'router-exporter', title: 'Routers' };
const GRAFANA: NamedServer = {
  name: 'Grafana',
  expected: 'url: Expected the address of Grafana such as https://grafana.example.com',
  rights: 'The service account needs the role Editor; or name a folder that it may write to with --folder-uid',
};
const OK = 200;
/** It is there already. */
const CONFLICTS = [409, 412];

/** `grafana import`: creates or replaces the dashboards in a Grafana through its HTTP API. */
export async function importDashboards(flags: GrafanaFlags, io: CommandIo): Promise<ExitCode> {
  const { url, tokenFile, username, folderUid = FOLDER.uid, prometheus, loki, overwrite = false } = flags;
  const isGiven = (tokenFile ?? username) !== undefined;
  const account = { ...flags, token: isGiven ? undefined : readEnvironment()['GRAFANA_TOKEN']?.trim() };
  const post = (path: string, body: object, what: string, taken: readonly number[]) => {
    const request = { server: GRAFANA, method: 'POST', path, accept: 'application/json' } as const;
    return askAgent(account, { ...request, json: JSON.stringify(body) }, io, async ({ status, text }) => {
      if (taken.includes(status)) return EXIT.done;
      const hint = CONFLICTS.includes(status)
        ? 'If it is there already, --overwrite replaces it'
        : 'Check the address, with its path (redirects are not followed), and --folder-uid';
      io.stderr.write(`Grafana did not take ${what}: status ${status}, ${sanitizeErrorText(text)}. ${hint}\n`);
      return EXIT.failed;
    });
  };
  const isFolderNew = flags.folderUid === undefined;
  let code: ExitCode = isFolderNew ? await post('/api/folders', FOLDER, 'the folder', [OK, ...CONFLICTS]) : EXIT.done;
  for (const name of readdirSync(DASHBOARDS)) {
    if (code !== EXIT.done) break;
    const dashboard = JSON.parse(readFileSync(new URL(name, DASHBOARDS), 'utf8')) as Dashboard;
    for (const variable of dashboard.templating.list) {
      const uid = { datasource: prometheus, loki }[variable.name];
      if (uid !== undefined) variable.current = { text: uid, value: uid };
    }
    const { title, uid } = dashboard;
    code = await post('/api/dashboards/db', { dashboard, folderUid, overwrite }, `the dashboard "${title}"`, [OK]);
    if (code === EXIT.done) await writeResult(`${title}: ${url.replace(/\/+$/, '')}/d/${uid}\n`, io);
  }
  return code;
}
