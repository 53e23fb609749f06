import { createPrivateKey, X509Certificate } from 'node:crypto';
import { resolve } from 'node:path';
import { Secret } from '../base/index.ts';
import type { ConfigFile, Place } from './config-file.ts';
import { describeValue } from './describe-value.ts';
import type { KeyPath } from './fault.ts';
import { readTextFile, type TextFile } from './text-file.ts';

/** Four times the size of the usual bundle of all public authorities. */
export const CA_FILE_BYTES_MAX = 1024 ** 2;
/** Longer than any password a router accepts. */
export const PASSWORD_FILE_BYTES_MAX = 4096;

/** Files of the key `tls`. */
interface NamedTlsFiles {
  readonly ca_file?: string | undefined;
  readonly cert_file?: string | undefined;
  readonly key_file?: string | undefined;
}

/** Content of these files. */
export interface TlsFiles {
  readonly caPem?: string | undefined;
  readonly certPem?: string | undefined;
  readonly keyPem?: Secret | undefined;
}

/** Requirements on the content of a file with a secret. */
export interface SecretKind {
  /** Completes "Expected a file that holds …". */
  readonly expected: string;
  readonly isValid?: (text: string) => boolean;
  readonly bytesMax?: number;
}

const PASSWORD: SecretKind = { expected: 'the password' };

/** Reads the files that values refer to, each once. A fault is at the value. */
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

/** Renders the fault of a file that a value refers to. */
export function renderFileFault(file: ConfigFile, path: KeyPath, isRelative: boolean, reason: string): string {
  const start = isRelative ? `; relative paths start at ${file.folder}` : '';
  return `The file named here, ${describeValue(file.source.valueAt(path), path, file.secretKeys)}, ${reason}${start}`;
}

const BLOCK = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]*-----END CERTIFICATE-----/g;

/**
 * Parses a bundle of certificates. Returns the certificates alone, as PEM, so that comments and keys which stand in the
 * same file are not kept; `undefined` when there is none or when one of them is damaged.
 */
function parseCertificates(text: string): string | undefined {
  const blocks = text.match(BLOCK) ?? [];
  // A block that is cut off does not match the pattern, and must not be left out in silence.
  if (blocks.length === 0 || blocks.length !== text.split('-----BEGIN CERTIFICATE-----').length - 1) return undefined;
  if (!blocks.every(isCertificate)) return undefined;
  return blocks.map((block) => `${block}\n`).join('');
}

function isCertificate(block: string): boolean {
  try {
    return new X509Certificate(block).raw.length > 0;
  } catch {
    return false;
  }
}

/** True for a PEM private key without a passphrase. */
function isPrivateKey(text: string): boolean {
  try {
    return createPrivateKey(text).type === 'private';
  } catch {
    return false;
  }
}
