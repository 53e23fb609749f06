import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Passes connections on to a port of this machine, and ends one in the middle when asked to. */
export interface CuttableConnection extends AsyncDisposable {
  readonly port: number;
  /**
   * Calls `act` once so many further bytes have passed in this direction, on all connections together, and ends the
   * connection on which they did; nothing behind them gets through.
   */
  cutAfter(direction: 'up' | 'down', bytes: number, act?: () => void): void;
  /** How many connections were cut. */
  readonly cuts: number;
}

export async function openCuttableConnection(target: number): Promise<CuttableConnection> {
  const left = { up: Number.POSITIVE_INFINITY, down: Number.POSITIVE_INFINITY };
  let onCut: (() => void) | undefined;
  let cuts = 0;
  const sockets = new Set<Socket>();
  const pass = (direction: 'up' | 'down', from: Socket, to: Socket) => {
    from.on('data', (chunk: Buffer) => {
      const part = chunk.subarray(0, left[direction]);
      left[direction] -= chunk.length;
      if (left[direction] > 0) return void to.write(part);
      left[direction] = Number.POSITIVE_INFINITY;
      cuts++;
      // What came before arrives.
      to.end(part);
      from.destroy();
      onCut?.();
    });
    from.on('error', () => {}).on('close', () => to.end());
  };
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket.setNoDelay());
      socket.on('close', () => sockets.delete(socket));
    }
    pass('up', client, upstream);
    pass('down', upstream, client);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    cutAfter(direction, bytes, act) {
      left[direction] = bytes;
      onCut = act;
    },
    get cuts() {
      return cuts;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
