import { type MessagePort, parentPort } from 'node:worker_threads';
import { compareSync } from 'bcryptjs';

/** Asks whether a password is the one of a bcrypt hash. */
export interface Comparison {
  readonly id: number;
  readonly password: string;
  readonly hash: string;
}

export interface ComparisonResult {
  readonly id: number;
  readonly isMatch: boolean;
}

function serve(port: MessagePort): void {
  port.on('message', ({ id, password, hash }: Comparison) => {
    port.postMessage({ id, isMatch: compareSync(password, hash) } satisfies ComparisonResult);
  });
}

if (parentPort) serve(parentPort);
