/**
 * The npm package `bz2` in a process of its own, which can be ended: nothing in it bounds time and memory.
 *
 * As a program: `node bench/npm-bz2.ts <archive> [checksum]` prints what became of the archive as JSON.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/** What the package made of an archive. */
export interface Bz2Outcome {
  /** SHA-256 of what came out; absent when it threw. */
  readonly sha?: string;
  readonly bytes?: number;
  /** Class and text of what it threw; `time limit` when it had to be ended. */
  readonly error?: string;
  /** Processor seconds of the decoding. */
  readonly seconds: number;
}

export interface Bz2Options {
  /** Whether it is asked to compare checksums; by itself it does not. */
  readonly checksum: boolean;
  /** After this it is killed. */
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
