import { createServer, type Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { WebError } from './errors.ts';
import { type RouterRow, renderStatusPage } from './status-page.ts';

/** What the pages show; everything comes from memory, so that a request never waits for a router. */
export interface WebContent {
  /** All metrics, text format 0.0.4. */
  renderMetrics(): Promise<string>;
  listRouters(): readonly RouterRow[];
  /** Whether the configuration is loaded and the state is open. */
  isReady(): boolean;
  /** Told what prevented an answer. */
  onFailed(cause: unknown): void;
}

export interface WebAddress {
  /** `undefined` listens on every address. */
  readonly host: string | undefined;
  /** 0 lets the system choose. */
  readonly port: number;
}

/** The content type of the Prometheus text format. */
const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** The routes, without a socket. */
export function createWebApp(content: WebContent): Hono {
  const app = new Hono();
  app.get('/', (context) => {
    context.header('Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'");
    return context.html(renderStatusPage(content.listRouters()));
  });
  app.get('/metrics', async (context) =>
    context.body(await content.renderMetrics(), 200, { 'Content-Type': METRICS_TYPE }),
  );
  app.get('/-/healthy', (context) => context.text('Healthy.\n'));
  app.get('/-/ready', (context) => (content.isReady() ? context.text('Ready.\n') : context.text('Not ready.\n', 503)));
  app.onError((cause, context) => {
    content.onFailed(cause);
    return context.text('Internal error; see the log of the agent.\n', 500);
  });
  app.notFound((context) => context.text('Not found.\n', 404));
  return app;
}

/** The listening sockets. */
export interface WebServer {
  /** Base addresses for people, as in `http://127.0.0.1:9847`. */
  readonly urls: readonly string[];
  close(): Promise<void>;
}

/** Listens on all addresses or on none. Throws {@link WebError}. */
export async function openWebServer(addresses: readonly WebAddress[], content: WebContent): Promise<WebServer> {
  const listener = getRequestListener(createWebApp(content).fetch);
  const servers: Server[] = [];
  const close = async () => {
    await Promise.all(servers.map(closeServer));
  };
  try {
    for (const address of addresses) {
      const server = createServer((request, response) => void listener(request, response));
      await listen(server, address);
      servers.push(server);
    }
  } catch (cause) {
    await close();
    throw cause;
  }
  return { urls: servers.map(renderUrl), close };
}

function listen(server: Server, { host, port }: WebAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) => {
      reject(
        new WebError('listen', `Could not listen on ${host ?? ''}:${port}`, {
          disposition: 'operator',
          hint: 'Choose another address with web.listen or --web.listen-address',
          cause,
        }),
      );
    });
    server.listen({ port, ...(host !== undefined && { host }) }, resolve);
  });
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

function renderUrl(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === 'string') return '';
  // A wildcard address is nowhere to go to with a browser.
  const isWildcard = address.address === '::' || address.address === '0.0.0.0';
  const host = isWildcard ? 'localhost' : address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return `http://${host}:${address.port}`;
}
