import { type MessagePort, parentPort } from 'node:worker_threads';
import { compareSync } from 'bcryptjs';

export interface Comparison {
  /** Copied to the result. */
  readonly id: number;
  /** Plain text. */
  readonly password: string;
  readonly hash: string;
  /** Hashes to compare as well if the password does not match, to take the same time. */
  readonly fillers: readonly string[];
}

export interface ComparisonResult {
  readonly id: number;
  readonly isMatch: boolean;
}

function serve(port: MessagePort): void {
  port.on('message', ({ id, password, hash, fillers }: Comparison) => {
    const isMatch = compareSync(password, hash);
    if (!isMatch) for (const filler of fillers) compareSync(password, filler);
    port.postMessage({ id, isMatch } satisfies ComparisonResult);
  });
}

if (parentPort) serve(parentPort);
