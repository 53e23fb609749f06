import { resolve } from 'node:path';
import { Secret } from '../base/index.ts';
import type { ConfigFile, Place } from './config-file.ts';
import { CA_FILE_BYTES_MAX, FILE_READS_MAX, PASSWORD_FILE_BYTES_MAX } from './defaults.ts';
import { describeValue } from './describe-value.ts';
import type { KeyPath } from './fault.ts';
import { isPrivateKey, parseCertificates } from './pem.ts';
import type { Layer } from './router-schema.ts';
import { readTextFile, type TextFile } from './text-file.ts';

/** `defaults` or one router, and where it stands. */
export interface PlacedLayer extends Place {
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
export async function readNamedFiles(layers: readonly PlacedLayer[]): Promise<LayerFiles[]> {
  const reader = new NamedFileReader();
  const files: LayerFiles[] = layers.map(() => ({}));
  const queue = layers.entries();
  const work = async () => {
    for (const [index, { file, path, layer }] of queue) {
      const { ca_file: ca, cert_file: cert, key_file: key } = layer.tls ?? {};
      const password = layer.password_file;
      const at = (...steps: KeyPath): Place => ({ file, path: [...path, ...steps] });
      files[index] = {
        caPem: ca === undefined ? undefined : await reader.readCertificates(at('tls', 'ca_file'), ca),
        certPem: cert === undefined ? undefined : await reader.readCertificates(at('tls', 'cert_file'), cert),
        keyPem: key === undefined ? undefined : await reader.readKey(at('tls', 'key_file'), key),
        password: password === undefined ? undefined : await reader.readPassword(at('password_file'), password),
      };
    }
  };
  await Promise.all(Array.from({ length: FILE_READS_MAX }, work));
  return files;
}

/** Reads files that values name, each once however many values name it. A fault stands at the value. */
export class NamedFileReader {
  readonly #texts = new Map<string, Promise<TextFile>>();
  readonly #certificates = new Map<string, string | undefined>();

  async readCertificates(place: Place, name: string): Promise<string | undefined> {
    const text = await this.#read(place, name, CA_FILE_BYTES_MAX);
    if (text === undefined) return undefined;
    const pem = this.#certificates.has(text) ? this.#certificates.get(text) : parseCertificates(text);
    this.#certificates.set(text, pem);
    if (pem === undefined) {
      const message =
        'Expected a file of PEM blocks "BEGIN CERTIFICATE", at least one and all of them whole; found other content';
      place.file.faults.add(place.path, message);
    }
    return pem;
  }

  async readKey(place: Place, name: string): Promise<Secret | undefined> {
    const text = await this.#read(place, name, CA_FILE_BYTES_MAX);
    if (text === undefined) return undefined;
    if (isPrivateKey(text)) return new Secret(text);
    const message = 'Expected a PEM file with a private key that has no passphrase; found other content';
    place.file.faults.add(place.path, message);
    return undefined;
  }

  async readPassword(place: Place, name: string): Promise<Secret | undefined> {
    const text = (await this.#read(place, name, PASSWORD_FILE_BYTES_MAX))?.replace(/\r?\n$/, '');
    if (text === '') {
      place.file.faults.add(place.path, 'Expected a file that holds the password; found an empty one');
    }
    return text ? new Secret(text) : undefined;
  }

  async #read({ file, path }: Place, name: string, bytesMax: number): Promise<string | undefined> {
    const absolute = resolve(file.folder, name);
    const key = `${bytesMax} ${absolute}`;
    const reading = this.#texts.get(key) ?? readTextFile(absolute, bytesMax);
    this.#texts.set(key, reading);
    const result = await reading;
    if (result.ok) return result.text;
    file.faults.add(path, renderFileFault(file, path, absolute !== name, result.reason));
    return undefined;
  }
}

/** Says why a file that a value names cannot be taken. */
export function renderFileFault(file: ConfigFile, path: KeyPath, isRelative: boolean, reason: string): string {
  const start = isRelative ? `; relative paths start at ${file.folder}` : '';
  return `The file named here, ${describeValue(file.source.valueAt(path), path)}, ${reason}${start}`;
}
