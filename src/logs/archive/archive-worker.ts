import { type MessagePort, parentPort } from 'node:worker_threads';
import { Bzip2Decoder, Bzip2Error, Bzip2Workspace } from '../../bzip2/index.ts';
import { OUTPUT_CHUNK_BYTES, OUTPUT_WINDOW_BYTES, type Reply, type Request } from './archive-protocol.ts';

/** One file: input messages in, output messages out, never more of them under way than the reader takes. */
class Job {
  readonly id: number;
  readonly #decoder: Bzip2Decoder;
  readonly #post: (reply: Reply, transfer?: ArrayBuffer[]) => void;
  readonly #input: Uint8Array[] = [];
  #pushedBytes = 0;
  #isInputEnded = false;
  #isEndPushed = false;
  #isOver = false;
  #untakenBytes = 0;
  /** Decoded bytes of the decoder's own buffer that are not posted yet. */
  #piece: Uint8Array | undefined;

  constructor(id: number, decoder: Bzip2Decoder, post: (reply: Reply, transfer?: ArrayBuffer[]) => void) {
    this.id = id;
    this.#decoder = decoder;
    this.#post = post;
  }

  handle(request: Request): void {
    if (request.kind === 'input') this.#input.push(request.bytes);
    else if (request.kind === 'input-ended') this.#isInputEnded = true;
    else if (request.kind === 'taken') this.#untakenBytes -= request.bytes;
    else if (request.kind === 'abandon') this.#isOver = true;
    try {
      this.#work();
    } catch (error) {
      if (!(error instanceof Bzip2Error)) throw error;
      const { code, message, bit } = error;
      this.#isOver = true;
      this.#post({ kind: 'failed', job: this.id, error: { code, message, bit } });
    }
  }

  #work(): void {
    while (!this.#isOver && this.#untakenBytes < OUTPUT_WINDOW_BYTES) {
      if (this.#piece) {
        this.#postPiece(this.#piece);
        continue;
      }
      const item = this.#decoder.read();
      if (item instanceof Uint8Array) this.#piece = item;
      else if (item === undefined) {
        if (!this.#pushNext()) return;
      } else if (item.kind === 'end') {
        this.#isOver = true;
        this.#post({ kind: 'finished', job: this.id, end: item });
      } else this.#post({ kind: 'marker', job: this.id, marker: item });
    }
  }

  #postPiece(piece: Uint8Array): void {
    const part = piece.subarray(0, OUTPUT_CHUNK_BYTES);
    const bytes = new Uint8Array(part);
    this.#piece = bytes.length < piece.length ? piece.subarray(bytes.length) : undefined;
    this.#untakenBytes += bytes.length;
    this.#post({ kind: 'output', job: this.id, bytes }, [bytes.buffer]);
  }

  /** Gives the decoder its next input. False when there is none yet. */
  #pushNext(): boolean {
    if (this.#pushedBytes > 0) this.#post({ kind: 'consumed', job: this.id, bytes: this.#pushedBytes });
    const next = this.#input.shift();
    this.#pushedBytes = next?.length ?? 0;
    if (next) this.#decoder.push(next);
    else if (this.#isInputEnded && !this.#isEndPushed) {
      this.#isEndPushed = true;
      this.#decoder.end();
    } else return false;
    return true;
  }
}

function serve(port: MessagePort): void {
  const workspace = new Bzip2Workspace();
  let job: Job | undefined;
  port.on('message', (request: Request) => {
    if (request.kind === 'begin') {
      job = new Job(request.job, new Bzip2Decoder(request.limits, workspace), (reply, transfer) =>
        port.postMessage(reply, transfer),
      );
    } else if (request.job === job?.id) job.handle(request);
  });
}

if (parentPort) serve(parentPort);
