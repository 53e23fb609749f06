/** Decoders of the npm registry to compare with. They are no dependencies of this project, and are taken from a folder beside it. */
import { createRequire } from 'node:module';
import { Readable } from 'node:stream';
import { print } from './contest.ts';

export interface NpmDecoder {
  readonly name: string;
  readonly decode: (archive: Buffer) => Readable;
}

/** Those below `folder`; none, and a word about it, without one. */
export function findNpmDecoders(folder: string | undefined): NpmDecoder[] {
  if (folder === undefined) {
    print('Skipped: the decoders of the npm registry, because no folder with them was given.');
    return [];
  }
  const require = createRequire(`${folder}/`);
  // Names in variables: they are no dependencies of this project.
  const [seekName, unbzip2Name] = ['seek-bzip', 'unbzip2-stream'] as const;
  const seek = require(seekName) as { decode(input: Buffer): Buffer };
  const unbzip2 = require(unbzip2Name) as () => NodeJS.ReadWriteStream;
  return [
    { name: 'npm `seek-bzip`', decode: (archive) => Readable.from([seek.decode(archive)], { objectMode: false }) },
    {
      name: 'npm `unbzip2-stream`',
      // A stream older than asynchronous iteration.
      decode: (archive) => new Readable({ read() {} }).wrap(Readable.from(cut(archive)).pipe(unbzip2())),
    },
  ];
}

const CHUNK_BYTES = 64 * 1024;

/** Chunks as they come from a network. */
export function* cut(bytes: Uint8Array): Generator<Uint8Array, void, undefined> {
  for (let from = 0; from < bytes.length; from += CHUNK_BYTES) yield bytes.subarray(from, from + CHUNK_BYTES);
}
