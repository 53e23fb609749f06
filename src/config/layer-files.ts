import type { Secret } from '../base/index.ts';
import { NamedFileReader, type Place, type TlsFiles } from '../settings/index.ts';
import type { Layer } from './router-schema.ts';

/** Enough to hide the latency of a network share, far below the limit of open files. */
const FILE_READS_MAX = 16;

/** `defaults` or one router, and where it stands. */
export interface PlacedLayer extends Place {
  readonly layer: Layer;
}

/** What the files of a layer hold. */
export interface LayerFiles extends TlsFiles {
  readonly password?: Secret | undefined;
}

/** Reads every file that the layers name, each once, a few at a time. What is wrong with one is a fault at its key. */
export async function readNamedFiles(layers: readonly PlacedLayer[]): Promise<LayerFiles[]> {
  const reader = new NamedFileReader();
  const files: LayerFiles[] = layers.map(() => ({}));
  const queue = layers.entries();
  const work = async () => {
    for (const [index, { file, path, layer }] of queue) {
      const password = layer.password_file;
      const passwordPlace = { file, path: [...path, 'password_file'] };
      files[index] = {
        ...(await reader.readTls({ file, path: [...path, 'tls'] }, layer.tls ?? {})),
        password: password === undefined ? undefined : await reader.readSecret(passwordPlace, password),
      };
    }
  };
  await Promise.all(Array.from({ length: FILE_READS_MAX }, work));
  return files;
}
