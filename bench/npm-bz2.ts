/**
 * The npm package `bz2` in a separate process that can be killed, because it bounds neither time nor memory.
 *
 * As a program: `node bench/npm-bz2.ts <archive> [checksum]` prints the outcome as JSON.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/** Outcome of decoding an archive. */
export interface Bz2Outcome {
  /** SHA-256 of the output; absent when it threw. */
  readonly sha?: string;
  readonly bytes?: number;
  /** Class and message of the error; `time limit` when it was killed. */
  readonly error?: string;
  /** CPU seconds of the decoding. */
  readonly seconds: number;
}

export interface Bz2Options {
  /** True to compare checksums, which it does not do by default. */
  readonly checksum: boolean;
  /** Time after which it is killed. */
  readonly limitMs: number;
}

/** Decodes a file. */
export function decodeWithBz2(file: string, { checksum, limitMs }: Bz2Options): Promise<Bz2Outcome> {
  const args = [fileURLToPath(import.meta.url), file, ...(checksum ? ['checksum'] : [])];
  return new Promise((resolve) => {
    const limits = { timeout: limitMs, killSignal: 'SIGKILL' } as const;
    execFile(process.execPath, args, limits, (failed, stdout) =>
      resolve(failed ? { error: 'time limit', seconds: limitMs / 1000 } : (JSON.parse(stdout) as Bz2Outcome)),
    );
  });
}

function decodeHere(file: string, checksum: boolean): Bz2Outcome {
  const require = createRequire(import.meta.url);
  const bz2 = require('bz2') as { decompress(bytes: Uint8Array, checkCrc?: boolean): Uint8Array };
  const archive = readFileSync(file);
  const before = process.cpuUsage();
  const readSeconds = () => {
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1e6;
  };
  try {
    const text = bz2.decompress(archive, checksum);
    const seconds = readSeconds();
    return { sha: createHash('sha256').update(text).digest('hex'), bytes: text.length, seconds };
  } catch (thrown) {
    return { error: String(thrown), seconds: readSeconds() };
  }
}

const [file, checksum] = process.argv.slice(2);
if (process.argv[1] === fileURLToPath(import.meta.url) && file !== undefined) {
  process.stdout.write(JSON.stringify(decodeHere(file, checksum !== undefined)));
}
