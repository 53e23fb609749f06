import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A router whose log files are exactly the bytes that a test gives it, by their listed names. */
export interface ByteRouter extends AsyncDisposable {
  readonly url: string;
  readonly files: Map<string, Buffer>;
}

/**
 * Starts a router of logs alone, over plain HTTP: every login succeeds, every other resource is unknown. The simulator's log
 * daemon replaces control bytes, as the device's does; what a power cut or another firmware leaves comes from here.
 */
export async function openByteRouter(): Promise<ByteRouter> {
  const files = new Map<string, Buffer>();
  const server = createServer((request, response) => {
    request.resume();
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://router');
    const answerJson = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (pathname.endsWith('/auth/login')) answerJson(200, { access: 'access', refresh: 'refresh' });
    else if (pathname.endsWith('/auth/logout')) answerJson(200, {});
    else if (!pathname.endsWith('/download/log')) answerJson(404, {});
    else if (searchParams.has('list_files')) answerJson(200, { log_files: [...files.keys()] });
    else {
      const bytes = files.get(searchParams.get('log_file') ?? '');
      if (bytes) response.writeHead(200, { 'content-type': 'text/plain' }).end(bytes);
      else answerJson(404, {});
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    files,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
