import { type MessagePort, parentPort } from 'node:worker_threads';
import { compareSync } from 'bcryptjs';

/** Request to compare a password with a bcrypt hash. */
export interface Comparison {
  /** Copied to the result. */
  readonly id: number;
  /** In clear text. */
  readonly password: string;
  /** The bcrypt hash. */
  readonly hash: string;
  /** Hashes to compare as well when the password does not match, for the time that it takes. */
  readonly fillers: readonly string[];
}

/** Result of one comparison, by its number. */
export interface ComparisonResult {
  /** The id of the request. */
  readonly id: number;
  /** True when the password matches the hash. */
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
