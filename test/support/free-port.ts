import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * A port of the loopback address that nobody listens on, for programs that cannot choose one themselves: any, or the first
 * free one of a range.
 */
export async function findFreePort({ from, to } = { from: 0, to: 0 }): Promise<number> {
  for (let port = from; port <= to; port++) {
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    const address = server.address();
    server.close();
    await once(server, 'close');
    return typeof address === 'object' && address !== null ? address.port : 0;
  }
  throw new RangeError(`No port from ${from} to ${to} is free`);
}
