import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server of lists of routers, on loopback. */
export interface InventoryServer extends AsyncDisposable {
  readonly url: string;
  readonly requests: readonly IncomingMessage[];
  /** Answers every request from now on. */
  answer: (request: IncomingMessage, response: ServerResponse) => void;
  /** Answers with this value as JSON. */
  list(value: unknown): void;
}

/** Opens a server that answers with an empty list. */
export async function openInventory(): Promise<InventoryServer> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    inventory.answer(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const inventory: InventoryServer = {
    url: `http://127.0.0.1:${port}`,
    requests,
    answer: (_request, response) => response.end('[]'),
    list(value) {
      inventory.answer = (_request, response) => response.end(JSON.stringify(value));
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return inventory;
}
