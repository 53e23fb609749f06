import type { Writable } from 'node:stream';
import type { Sink } from '../deliver.ts';
import { DeliveryError } from '../errors.ts';

/** Writes one JSON object per line to `output`; a record is acknowledged when the system has taken its bytes. */
export function createStdoutSink(name: string, output: Writable): Sink {
  // A reader that goes away also raises an event, which without a listener would end the process.
  output.on('error', () => {});
  return {
    name,
    deliver: (lines, signal) =>
      new Promise((resolve, reject) => {
        const onAbort = () => reject(signal.reason);
        signal.addEventListener('abort', onAbort, { once: true });
        output.write(`${lines.join('\n')}\n`, (cause) => {
          signal.removeEventListener('abort', onAbort);
          if (!cause) return resolve();
          reject(
            new DeliveryError('closed', `Sink ${name} could not write to standard output`, {
              disposition: 'operator',
              hint: 'code' in cause && cause.code === 'EPIPE' ? 'The program that read it has ended' : undefined,
              cause,
            }),
          );
        });
      }),
  };
}
