import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** Lines to ports of this machine that can be cut at once: then nothing passes, and nobody is told. */
export interface CuttableLines extends AsyncDisposable {
  /** A port for each one that they lead to. */
  readonly ports: readonly number[];
  cut(): void;
  /** What was sent meanwhile arrives, as after a cable was plugged in again. */
  mend(): void;
}

/** Opens lines to ports. */
export async function openCuttableLines(targets: readonly number[]): Promise<CuttableLines> {
  const sockets = new Set<Socket>();
  let isCut = false;
  const open = async (target: number): Promise<Server> => {
    const server = createServer((client) => {
      const upstream = connect(target, '127.0.0.1');
      for (const [from, to] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        sockets.add(from.setNoDelay());
        from.on('data', (chunk) => void to.write(chunk));
        from
          .on('error', () => {})
          .on('close', () => {
            sockets.delete(from);
            to.destroy();
          });
        if (isCut) from.pause();
      }
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return server;
  };
  const servers = await Promise.all(targets.map(open));
  return {
    ports: servers.map((server) => (server.address() as AddressInfo).port),
    cut() {
      isCut = true;
      for (const socket of sockets) socket.pause();
    },
    mend() {
      isCut = false;
      for (const socket of sockets) socket.resume();
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      for (const server of servers) server.close();
      await Promise.all(servers.map((server) => once(server, 'close')));
    },
  };
}
