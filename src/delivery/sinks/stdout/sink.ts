import type { Writable } from 'node:stream';
import { escapeForTerminal, joinLines } from '../../../base/index.ts';
import type { Sink, SinkOptions } from '../../contracts.ts';
import { DeliveryError } from '../../errors.ts';
import { renderLines } from '../../formats/format.ts';

/** The stream that records are written to. Default format: `native`. */
interface StdoutSinkOptions extends Omit<SinkOptions, 'timeoutMs'> {
  /** Standard output of the process, or a substitute. */
  readonly output: Writable & { readonly isTTY?: boolean };
}

/**
 * Creates a sink that writes one JSON object per line to `output`. A record is accepted once the system has its bytes. A
 * terminal gets control characters escaped that JSON would leave as they are.
 * There is no time limit: delivery waits for a slow or paused reader.
 */
export function createStdoutSink({ name, batch, format = 'native', output }: StdoutSinkOptions): Sink {
  // Without a listener, the event of a closed reader would end the process.
  output.on('error', () => {});
  return {
    name,
    batch,
    deliver: async (records, signal) => {
      if (records.length === 0) return {};
      const lines = joinLines(renderLines(records, format));
      const bytes = output.isTTY ? Buffer.from(escapeForTerminal(lines.toString())) : lines;
      await write(name, output, bytes, signal);
      return { bytes: bytes.length };
    },
    preflight: async () => [
      {
        step: 'standard output',
        verdict: 'ok',
        message: 'Standard output is always available; no test record is written',
      },
    ],
    // Standard output belongs to the process.
    close: async () => {},
  };
}

function write(name: string, output: Writable, bytes: Buffer, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    output.write(bytes, (cause) => {
      signal.removeEventListener('abort', onAbort);
      if (!cause) return resolve();
      reject(
        new DeliveryError('closed', `Sink ${name} could not write to standard output`, {
          disposition: 'operator',
          hint: 'code' in cause && cause.code === 'EPIPE' ? 'The program that read the output has ended' : undefined,
          cause,
        }),
      );
    });
  });
}
