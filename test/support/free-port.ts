import { once } from 'node:events';
import { createServer, type ListenOptions, type Server } from 'node:net';

/** Below the ports that the system gives to whoever asks for any: none of these is taken by chance before it is used. */
const RANGE = { from: 20_000, to: 32_000 };

/** Where this process begins to look: another one begins elsewhere. */
let next = RANGE.from + ((process.pid * 97) % (RANGE.to - RANGE.from));

/** A server that listens, or `undefined` where another one does already. */
async function tryToListen(options: ListenOptions): Promise<Server | undefined> {
  const server = createServer().listen(options);
  return once(server, 'listening').then(
    () => server,
    () => undefined,
  );
}

/** Whether a port is this process's own from now on until it ends: a name in the kernel says so to the other processes. */
async function claim(port: number): Promise<boolean> {
  const claimed = await tryToListen({ path: `\0router-exporter-test-port-${port}` });
  claimed?.unref();
  if (!claimed) return false;
  const server = await tryToListen({ port, host: '127.0.0.1' });
  if (!server) return false;
  server.close();
  await once(server, 'close');
  return true;
}

/**
 * A port of the loopback address that nobody listens on, and that no other test is given, for programs that cannot choose
 * one themselves: any, or the first free one of a range.
 */
export async function findFreePort(range?: { readonly from: number; readonly to: number }): Promise<number> {
  if (range) {
    for (let port = range.from; port <= range.to; port++) if (await claim(port)) return port;
  } else {
    for (let tries = RANGE.to - RANGE.from; tries > 0; tries--) {
      const port = next++;
      if (next > RANGE.to) next = RANGE.from;
      if (await claim(port)) return port;
    }
  }
  const { from, to } = range ?? RANGE;
  throw new RangeError(`No port from ${from} to ${to} is free`);
}

/** The first of several free ports in a row. */
export async function findFreePorts(count: number): Promise<number> {
  for (;;) {
    const first = await findFreePort();
    const others = await Promise.all(Array.from({ length: count - 1 }, (_, index) => claim(first + 1 + index)));
    if (others.every(Boolean)) return first;
  }
}
