import { resolve } from 'node:path';
import { Secret } from '../base/index.ts';
import { CA_FILE_BYTES_MAX, FILE_READS_MAX, PASSWORD_FILE_BYTES_MAX } from './defaults.ts';
import { describeValue } from './describe-value.ts';
import type { KeyPath } from './fault.ts';
import type { FaultList } from './fault-list.ts';
import { isPrivateKey, parseCertificates } from './pem.ts';
import type { Layer } from './router-schema.ts';
import type { ConfigSource } from './source.ts';
import { readTextFile, type TextFile } from './text-file.ts';

/** `defaults` or one router, and where it stands. */
export interface PlacedLayer {
  readonly path: KeyPath;
  readonly layer: Layer;
}

/** What the files of a layer hold. */
export interface LayerFiles {
  readonly caPem?: string | undefined;
  readonly certPem?: string | undefined;
  readonly keyPem?: Secret | undefined;
  readonly password?: Secret | undefined;
}

/** Reads every file that the layers name, each once, a few at a time. What is wrong with one is a fault at its key. */
export async function readNamedFiles(
  layers: readonly PlacedLayer[],
  folder: string,
  source: ConfigSource,
  faults: FaultList,
): Promise<LayerFiles[]> {
  const texts = new Map<string, Promise<TextFile>>();
  const certificates = new Map<string, string | undefined>();

  const read = async (path: KeyPath, file: string, bytesMax: number): Promise<string | undefined> => {
    const absolute = resolve(folder, file);
    const key = `${bytesMax} ${absolute}`;
    const reading = texts.get(key) ?? readTextFile(absolute, bytesMax);
    texts.set(key, reading);
    const result = await reading;
    if (result.ok) return result.text;
    const start = absolute === file ? '' : `; relative paths start at ${folder}`;
    faults.add(path, `The file named here, ${describeValue(source.valueAt(path), path)}, ${result.reason}${start}`);
    return undefined;
  };

  const readCertificates = async (path: KeyPath, file: string): Promise<string | undefined> => {
    const text = await read(path, file, CA_FILE_BYTES_MAX);
    if (text === undefined) return undefined;
    const pem = certificates.has(text) ? certificates.get(text) : parseCertificates(text);
    certificates.set(text, pem);
    if (pem === undefined) {
      faults.add(
        path,
        'Expected a file of PEM blocks "BEGIN CERTIFICATE", at least one and all of them whole; found other content',
      );
    }
    return pem;
  };

  const readKey = async (path: KeyPath, file: string): Promise<Secret | undefined> => {
    const text = await read(path, file, CA_FILE_BYTES_MAX);
    if (text === undefined) return undefined;
    if (isPrivateKey(text)) return new Secret(text);
    faults.add(path, 'Expected a PEM file with a private key that has no passphrase; found other content');
    return undefined;
  };

  const readPassword = async (path: KeyPath, file: string): Promise<Secret | undefined> => {
    const text = (await read(path, file, PASSWORD_FILE_BYTES_MAX))?.replace(/\r?\n$/, '');
    if (text === '') faults.add(path, 'Expected a file that holds the password; found an empty one');
    return text ? new Secret(text) : undefined;
  };

  const files: LayerFiles[] = layers.map(() => ({}));
  const queue = layers.entries();
  const work = async () => {
    for (const [index, { path, layer }] of queue) {
      const { ca_file: ca, cert_file: cert, key_file: key } = layer.tls ?? {};
      const password = layer.password_file;
      files[index] = {
        caPem: ca === undefined ? undefined : await readCertificates([...path, 'tls', 'ca_file'], ca),
        certPem: cert === undefined ? undefined : await readCertificates([...path, 'tls', 'cert_file'], cert),
        keyPem: key === undefined ? undefined : await readKey([...path, 'tls', 'key_file'], key),
        password: password === undefined ? undefined : await readPassword([...path, 'password_file'], password),
      };
    }
  };
  await Promise.all(Array.from({ length: FILE_READS_MAX }, work));
  return files;
}
