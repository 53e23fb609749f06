/** Decoders of the npm registry to compare with. They are not dependencies of this project; they are loaded from another folder. */
import { createRequire } from 'node:module';
import { Readable } from 'node:stream';
import { print } from './contest.ts';

export interface NpmDecoder {
  readonly name: string;
  readonly decode: (archive: Buffer) => Readable;
}

/** Finds the decoders below `folder`; without a folder, prints a message and returns none. */
export function findNpmDecoders(folder: string | undefined): NpmDecoder[] {
  if (folder === undefined) {
    print('Skipped: the decoders of the npm registry, because no folder with them was given.');
    return [];
  }
  const require = createRequire(`${folder}/`);
  // Names in variables, because they are not dependencies of this project.
  const [seekName, unbzip2Name] = ['seek-bzip', 'unbzip2-stream'] as const;
  const seek = require(seekName) as { decode(input: Buffer): Buffer };
  const unbzip2 = require(unbzip2Name) as () => NodeJS.ReadWriteStream;
  return [
    { name: 'npm `seek-bzip`', decode: (archive) => Readable.from([seek.decode(archive)], { objectMode: false }) },
    {
      name: 'npm `unbzip2-stream`',
      // Its streams do not support asynchronous iteration.
      decode: (archive) => new Readable({ read() {} }).wrap(Readable.from(cut(archive)).pipe(unbzip2())),
    },
  ];
}

const CHUNK_BYTES = 64 * 1024;

/** Yields chunks of the size that a network delivers. */
export function* cut(bytes: Uint8Array): Generator<Uint8Array, void, undefined> {
  for (let from = 0; from < bytes.length; from += CHUNK_BYTES) yield bytes.subarray(from, from + CHUNK_BYTES);
}
