import type { Socket } from 'node:net';

/**
 * Bytes that went over the wire, as the sockets below TLS counted them: handshakes and records of TLS are included, the
 * headers of TCP and IP and what they repeat are not.
 */
export interface WireBytes {
  readonly sent: number;
  readonly received: number;
}

/** Counts the bytes of all connections to one router, those that live included. */
export class WireMeter {
  readonly #open = new Set<Socket>();
  #ended: WireBytes = { sent: 0, received: 0 };
  #shown: WireBytes = { sent: 0, received: 0 };

  /** Counts what `socket`, fresh and without TLS, carries until its end. */
  watch(socket: Socket): void {
    this.#open.add(socket);
    socket.once('close', () => {
      this.#open.delete(socket);
      this.#ended = addBytes(this.#ended, socket);
    });
  }

  read(): WireBytes {
    const { sent, received } = [...this.#open].reduce(addBytes, this.#ended);
    // What still waits inside a socket counts as sent, and no longer does when the connection breaks. A counter must
    // not go back, so it stands still for as long.
    this.#shown = { sent: Math.max(sent, this.#shown.sent), received: Math.max(received, this.#shown.received) };
    return this.#shown;
  }
}

function addBytes(sum: WireBytes, { bytesWritten, bytesRead }: Socket): WireBytes {
  return { sent: sum.sent + bytesWritten, received: sum.received + bytesRead };
}
