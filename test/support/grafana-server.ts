import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface StoredDashboard {
  readonly folderUid: string;
  readonly dashboard: {
    readonly uid: string;
    readonly title: string;
    readonly templating: { readonly list: readonly { readonly name: string; readonly current?: unknown }[] };
  };
  readonly version: number;
}

/** A double of Grafana, which has folders and dashboards by their uid. */
export interface GrafanaServer extends AsyncDisposable {
  readonly url: string;
  readonly folders: Map<string, string>;
  readonly dashboards: ReadonlyMap<string, StoredDashboard>;
  /** Ways in which accounts came in. */
  readonly accounts: ReadonlySet<string>;
  /** Answers every request in its place, if set. */
  answer: ((request: IncomingMessage, response: ServerResponse) => void) | undefined;
}

export interface GrafanaServerOptions {
  /** Rights of the token. Default: to create folders and to write dashboards. */
  readonly role?: 'Viewer' | 'Editor' | 'folder alone';
  /** Path that it is served below. */
  readonly path?: string;
}

export const GRAFANA_TOKEN = 'glsa_of-the-service-account';

/**
 * Opens a double of the folder and dashboard API, by the documentation of Grafana: POST /api/folders (200, 400, 401, 403, 409)
 * and POST /api/dashboards/db (200, 400, 401, 403, 412 with `name-exists`).
 */
export async function openGrafana({ role = 'Editor', path = '' }: GrafanaServerOptions = {}): Promise<GrafanaServer> {
  const folders = new Map<string, string>();
  const dashboards = new Map<string, StoredDashboard>();
  const accounts = new Set<string>();
  const server = createServer((request, response) => {
    if (grafana.answer) return grafana.answer(request, response);
    void handle(request, (status, body) => {
      response.writeHead(status, { 'content-type': 'application/json; charset=UTF-8' }).end(JSON.stringify(body));
    });
  });
  const handle = async (request: IncomingMessage, answer: (status: number, body: object) => void) => {
    const { method, headers, url } = request;
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const { authorization = '' } = headers;
    accounts.add(authorization);
    const basic = `Basic ${Buffer.from('admin:secret-of-admin').toString('base64')}`;
    if (authorization !== `Bearer ${GRAFANA_TOKEN}` && authorization !== basic) {
      return answer(401, { message: 'Invalid API key' });
    }
    if (headers['content-type'] !== 'application/json') return answer(400, { message: 'bad request data' });
    if (role === 'Viewer')
      return answer(403, { message: 'You do not have the permissions needed', title: 'Access denied' });
    const body = JSON.parse(Buffer.concat(pieces).toString('utf8')) as Record<string, unknown>;
    if (method === 'POST' && url === `${path}/api/folders`) {
      if (role === 'folder alone') return answer(403, { message: 'You do not have the permissions needed' });
      const { uid, title } = body as { uid: string; title: string };
      if (folders.has(uid)) return answer(409, { message: 'a folder with the same name already exists' });
      folders.set(uid, title);
      return answer(200, { id: folders.size, uid, title, url: `/dashboards/f/${uid}/x` });
    }
    if (method === 'POST' && url === `${path}/api/dashboards/db`) {
      const { dashboard, folderUid, overwrite } = body as unknown as StoredDashboard & { overwrite: boolean };
      if (!folders.has(folderUid)) return answer(400, { message: 'folder not found' });
      const known = dashboards.get(dashboard.uid);
      if (known && !overwrite) {
        const message = 'A dashboard with the same name in the folder already exists';
        return answer(412, { message, status: 'name-exists' });
      }
      const version = (known?.version ?? 0) + 1;
      dashboards.set(dashboard.uid, { dashboard, folderUid, version });
      return answer(200, { id: 1, uid: dashboard.uid, url: `/d/${dashboard.uid}/x`, status: 'success', version });
    }
    return answer(404, { message: 'Not found' });
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const grafana: GrafanaServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    folders,
    dashboards,
    accounts,
    answer: undefined,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return grafana;
}
