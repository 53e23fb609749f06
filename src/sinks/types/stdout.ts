import type { Writable } from 'node:stream';
import { escapeForTerminal, joinLines } from '../../base/index.ts';
import { DeliveryError } from '../contracts.ts';
import { renderLines } from '../outgoing-record.ts';
import { batch, defineSink, format, sinkSchema } from './define-sink.ts';

const schema = sinkSchema(
  'stdout',
  'One record per line on standard output. Delivery has no time limit and waits for slow readers.',
  {
    format: format(['native', 'ecs', 'otel']),
    batch: batch({ recordsMax: 5000, bytesMax: 1024 ** 2, waitMs: 0 }),
  },
);

/**
 * Writes one JSON object per line. A record is accepted once the system has its bytes. For a terminal, control characters
 * that JSON leaves as they are are escaped. There is no time limit: delivery waits for a slow or paused reader.
 */
export const stdout = defineSink({
  schema,
  open({ name, format: recordFormat }, { stdout: output }) {
    // Without a listener, the error of a closed reader would end the process.
    output.on('error', () => {});
    return {
      async deliver(records, signal) {
        if (records.length === 0) return {};
        const lines = joinLines(renderLines(records, recordFormat));
        const bytes = 'isTTY' in output && output.isTTY ? Buffer.from(escapeForTerminal(lines.toString())) : lines;
        await write(name, output, bytes, signal);
        return { bytes: bytes.length };
      },
      async preflight() {
        const message = 'Standard output is always available; no test record is written';
        return [{ step: 'standard output', verdict: 'ok', message }];
      },
      // Standard output belongs to the process.
      close: async () => {},
    };
  },
});

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
