import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';

/** A port whose queue of new connections is full: the system drops every further SYN, as a router without coverage does. */
export interface SilentListener extends AsyncDisposable {
  readonly port: number;
  /**
   * Takes all connections that wait, and those that come, and passes them on to a port of this machine; without one it is
   * silent behind TCP. A SYN that was dropped is sent again by the system.
   */
  accept(target?: number): Promise<void>;
}

/** The least queue that Linux has holds one connection more than this. */
const BACKLOG = 1;
/** Places in the memory that is shared with the thread: whether to wake, and the port to pass connections on to. */
const [WAKE, TARGET] = [0, 1];

/** Sleeps in its thread, so that nobody takes connections out of the queue, until it is woken. */
const LISTENER = `
const { createServer, connect } = require('node:net');
const { parentPort, workerData: { shared, backlog, host } } = require('node:worker_threads');
let accepted = 0;
const server = createServer((socket) => {
  socket.on('error', () => {});
  accepted++;
  // There is room again when the connections are taken that fill the queue; they are of no other use.
  if (accepted === backlog + 1) parentPort.postMessage('accepted');
  if (accepted <= backlog + 1) return;
  const target = shared[1];
  if (target) socket.pipe(connect(target, '127.0.0.1').on('error', () => {})).pipe(socket);
});
server.listen({ port: 0, host, backlog }, () => {
  parentPort.postMessage(server.address().port);
  Atomics.wait(shared, 0, 0);
});
`;

export async function openSilentListener(host = '127.0.0.1'): Promise<SilentListener> {
  const shared = new Int32Array(new SharedArrayBuffer(8));
  const worker = new Worker(LISTENER, { eval: true, workerData: { shared, backlog: BACKLOG, host } });
  const [port] = (await once(worker, 'message')) as [number];
  const fillers: Socket[] = [];
  for (let count = 0; count <= BACKLOG; count++) {
    const filler = connect(port, host);
    filler.on('error', () => {});
    fillers.push(filler);
    await once(filler, 'connect');
  }
  const wake = () => {
    Atomics.store(shared, WAKE, 1);
    Atomics.notify(shared, WAKE);
  };
  return {
    port,
    async accept(target = 0) {
      Atomics.store(shared, TARGET, target);
      const accepted = once(worker, 'message');
      wake();
      await accepted;
    },
    async [Symbol.asyncDispose]() {
      for (const filler of fillers) filler.destroy();
      wake();
      await worker.terminate();
    },
  };
}
