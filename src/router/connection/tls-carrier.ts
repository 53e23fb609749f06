import type { OnReadOpts, Socket } from 'node:net';
import { Duplex } from 'node:stream';

/** What arrives on all connections is read into this memory, and taken or copied before the next reading. */
const ARRIVED = Buffer.allocUnsafeSlow(64 * 1024);
/**
 * Longest piece that is handed to TLS. Node.js gives each connection a first buffer of 4,096 bytes, and further ones of 16 KiB
 * once that is full. Bytes.
 */
const PIECE_BYTES_MAX = 4095;

type Done = (error?: Error | null) => void;

/**
 * Carries the bytes of TLS between a socket and the TLS library. TLS that reads from the socket itself keeps a buffer of 64 KiB for
 * each connection as long as that is open, which for ten thousand routers is half of all memory.
 */
export class TlsCarrier extends Duplex {
  /** Option of the socket. */
  readonly onread: OnReadOpts = {
    buffer: ARRIVED,
    callback: (length) => {
      let isWanted = true;
      for (let begin = 0; begin < length; begin += PIECE_BYTES_MAX) {
        const end = Math.min(begin + PIECE_BYTES_MAX, length);
        const piece = ARRIVED.subarray(begin, end);
        // TLS, while it reads, copies a piece that nothing waits in front of before `push` returns.
        const isTakenNow = this.readableFlowing === true && this.readableLength === 0;
        isWanted = this.push(isTakenNow ? piece : Buffer.from(piece));
      }
      return isWanted;
    },
  };
  #socket: Socket | undefined;

  /** Begins to carry. `socket`: was created with {@link onread}, and is connected. */
  attach(socket: Socket): void {
    this.#socket = socket;
    socket.once('end', () => this.push(null));
    socket.once('error', (cause) => this.destroy(cause));
    socket.once('close', () => this.destroy());
  }

  override _read(): void {
    this.#socket?.resume();
  }

  override _write(bytes: Buffer, _encoding: string, done: Done): void {
    this.#socket?.write(bytes, done);
  }

  override _final(done: Done): void {
    this.#socket?.end(() => done());
  }

  override _destroy(cause: Error | null, done: Done): void {
    this.#socket?.destroy();
    done(cause);
  }
}
