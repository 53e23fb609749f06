/** Worker thread that compresses one buffer per message. */
import { parentPort } from 'node:worker_threads';
import { encodeBzip2 } from './encode.ts';

parentPort?.on('message', (input: Uint8Array) => {
  const output = encodeBzip2(input);
  parentPort?.postMessage(output, [output.buffer as ArrayBuffer]);
});
