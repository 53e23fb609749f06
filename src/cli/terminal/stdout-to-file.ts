import { fstatSync, writeSync } from 'node:fs';
import { Writable } from 'node:stream';

/** Returns the output to the file that a descriptor is of; `undefined` for a pipe, a terminal or a closed descriptor. */
export function openFileOutput(descriptor: number): Writable | undefined {
  try {
    if (!fstatSync(descriptor).isFile()) return undefined;
  } catch {
    return undefined;
  }
  return new FileOutput(descriptor);
}

/**
 * Output to a file. That of Node.js writes once and takes a part for the whole: where a disk becomes full, the rest is missing,
 * and nobody is told.
 */
class FileOutput extends Writable {
  readonly #descriptor: number;

  constructor(descriptor: number) {
    super();
    this.#descriptor = descriptor;
  }

  override _write(bytes: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(this.#descriptor, bytes, at);
      done();
    } catch (cause) {
      done(cause instanceof Error ? cause : new TypeError(String(cause)));
    }
  }
}
