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

/** Files of the key `tls`. */
interface NamedTlsFiles {
  readonly ca_file?: string | undefined;
  readonly cert_file?: string | undefined;
  readonly key_file?: string | undefined;
}

/** What they hold. */
export interface TlsFiles {
  readonly caPem?: string | undefined;
  readonly certPem?: string | undefined;
  readonly keyPem?: Secret | undefined;
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

/** What a file with a secret has to hold. */
export interface SecretKind {
  /** Completes "Expected a file that holds …". */
  readonly expected: string;
  readonly isValid?: (text: string) => boolean;
  readonly bytesMax?: number;
}

const PASSWORD: SecretKind = { expected: 'the password' };

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

  /** Reads the files of the key `tls`, which stands at `place`. */
  async readTls(
    { file, path }: Place,
    { ca_file: ca, cert_file: cert, key_file: key }: NamedTlsFiles,
  ): Promise<TlsFiles> {
    const at = (step: string): Place => ({ file, path: [...path, step] });
    return {
      caPem: ca === undefined ? undefined : await this.readCertificates(at('ca_file'), ca),
      certPem: cert === undefined ? undefined : await this.readCertificates(at('cert_file'), cert),
      keyPem: key === undefined ? undefined : await this.readKey(at('key_file'), key),
    };
  }

  /** Reads a secret of one line, without its line end. */
  async readSecret(place: Place, name: string, kind: SecretKind = PASSWORD): Promise<Secret | undefined> {
    const text = (await this.#read(place, name, kind.bytesMax ?? PASSWORD_FILE_BYTES_MAX))?.replace(/\r?\n$/, '');
    if (text === '') {
      place.file.faults.add(place.path, `Expected a file that holds ${kind.expected}; found an empty one`);
    } else if (text !== undefined && kind.isValid?.(text) === false) {
      place.file.faults.add(place.path, `Expected a file that holds ${kind.expected}; found other content`);
      return undefined;
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
