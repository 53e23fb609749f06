import { createPrivateKey, X509Certificate } from 'node:crypto';
import { resolve, sep } from 'node:path';
import { Secret } from '../../base/index.ts';
import { HEADER_SECRET } from '../schema/http-headers.ts';
import type { WrittenSecret } from '../schema/values.ts';
import type { ConfigFile, Place } from '../source/config-file.ts';
import { describeKind, describeValue } from '../source/describe-value.ts';
import type { KeyPath } from '../source/fault.ts';
import { describeExcessRights } from './file-rights.ts';
import type { ReadSecret, SecretKind, SecretOrigin } from './secret-keeper.ts';
import { readTextFile, type TextFile } from './text-file.ts';

/** Four times the size of the usual bundle of all public authorities. */
export const CA_FILE_BYTES_MAX = 1024 ** 2;

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

/** The keys of headers, as they are written. */
interface WrittenHeaders {
  readonly headers?: Readonly<Record<string, WrittenSecret>> | undefined;
  readonly header_files?: Readonly<Record<string, string>> | undefined;
}

const PASSWORD: SecretKind = { expected: 'the password' };

/** Reads the files that values refer to, each once. A fault is at the value. */
export class NamedFileReader {
  readonly #texts = new Map<string, Promise<TextFile>>();
  readonly #secrets = new Map<string, Promise<ReadSecret>>();
  readonly #certificates = new Map<string, string | undefined>();

  async readCertificates(place: Place, name: string): Promise<string | undefined> {
    const content = await this.#read(place, name, CA_FILE_BYTES_MAX);
    if (content === undefined) return undefined;
    const pem = this.#certificates.has(content) ? this.#certificates.get(content) : parseCertificates(content);
    this.#certificates.set(content, pem);
    if (pem === undefined) {
      const message =
        'Expected a file of PEM blocks "BEGIN CERTIFICATE", at least one and all of them whole; found other content';
      place.file.faults.add(place.path, message);
    }
    return pem;
  }

  async readKey(place: Place, name: string): Promise<Secret | undefined> {
    const content = await this.#read(place, name, CA_FILE_BYTES_MAX, true);
    if (content === undefined) return undefined;
    if (isPrivateKey(content)) return new Secret(content);
    const message = 'Expected a PEM file with a private key that has no passphrase; found other content';
    place.file.faults.add(place.path, message);
    return undefined;
  }

  /** Reads the files of the section `tls` at `place`. */
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

  /** Reads the secret `name` of the map at `place`, whichever of its keys is written. `keys` are the valid keys of the map. */
  async readSecret(
    { file, path }: Place,
    name: string,
    keys: object,
    kind: SecretKind = PASSWORD,
  ): Promise<Secret | undefined> {
    const short: unknown = Reflect.get(keys, `${name}_file`);
    if (typeof short === 'string') {
      return await this.readSecretFile({ file, path: [...path, `${name}_file`] }, short, kind);
    }
    const written = Reflect.get(keys, name) as WrittenSecret | undefined;
    return await this.#readWritten({ file, path: [...path, name] }, written, kind);
  }

  async #readWritten(
    { file, path }: Place,
    written: WrittenSecret | undefined,
    kind: SecretKind,
  ): Promise<Secret | undefined> {
    if (written === undefined || written instanceof Secret) return written;
    const { file: name, command } = written;
    if (name !== undefined) return await this.readSecretFile({ file, path: [...path, 'file'] }, name, kind);
    return command && (await this.#runCommand({ file, path: [...path, 'command'] }, command, kind));
  }

  /** Reads the headers of the map at `place`, those in files included. */
  async readHeaders(
    { file, path }: Place,
    { headers = {}, header_files: files = {} }: WrittenHeaders,
  ): Promise<Record<string, Secret>> {
    const read: Record<string, Secret> = {};
    for (const [name, value] of Object.entries(headers)) {
      const found = await this.#readWritten({ file, path: [...path, 'headers', name] }, value, HEADER_SECRET);
      if (found) read[name] = found;
    }
    for (const [name, value] of Object.entries(files)) {
      const found = await this.readSecretFile({ file, path: [...path, 'header_files', name] }, value, HEADER_SECRET);
      if (found) read[name] = found;
    }
    return read;
  }

  /** Reads a secret from the file that the value at `place` names, without its last line end. */
  async readSecretFile(place: Place, name: string, kind: SecretKind = PASSWORD): Promise<Secret | undefined> {
    const { file, path } = place;
    const absolute = resolve(file.folder, name);
    const found = await this.#readOrigin(file, { kind: 'file', path: absolute }, kind);
    if (found.ok) {
      // Credentials of systemd may be readable for all, in a folder that nobody else sees.
      const credentials = file.surroundings.credentialsFolder;
      const isCredential = credentials !== undefined && absolute.startsWith(resolve(credentials) + sep);
      if (!isCredential) await warnOfRights(place, absolute, found.mode, true);
      return found.secret;
    }
    const { fault, reason } = found;
    file.faults.add(
      path,
      fault === 'unreadable'
        ? renderFileFault(file, path, absolute !== name, reason)
        : renderContentFault('a file that holds', kind, fault),
    );
    return undefined;
  }

  async #runCommand({ file, path }: Place, args: readonly string[], kind: SecretKind): Promise<Secret | undefined> {
    if (!file.isMain) {
      const message =
        'Commands are legal in the main file only: otherwise, whoever may list routers could run programs here';
      file.faults.add(path, message, { aim: 'key' });
      return undefined;
    }
    const found = await this.#readOrigin(file, { kind: 'command', args, folder: file.folder }, kind);
    if (found.ok) return found.secret;
    const { fault, reason } = found;
    file.faults.add(
      path,
      fault === 'unreadable'
        ? `The command ${reason}; it is run without a shell, in ${file.folder}`
        : renderContentFault('a command that writes', kind, fault),
    );
    return undefined;
  }

  /** Reads each origin once. */
  #readOrigin({ surroundings }: ConfigFile, origin: SecretOrigin, kind: SecretKind): Promise<ReadSecret> {
    const key = JSON.stringify([origin, kind.expected]);
    const reading = this.#secrets.get(key) ?? surroundings.secrets.read(origin, kind);
    this.#secrets.set(key, reading);
    return reading;
  }

  async #read(place: Place, name: string, bytesMax: number, isSecret = false): Promise<string | undefined> {
    const { file, path } = place;
    const absolute = resolve(file.folder, name);
    const key = `${bytesMax} ${absolute}`;
    const reading = this.#texts.get(key) ?? readTextFile(absolute, bytesMax);
    this.#texts.set(key, reading);
    const result = await reading;
    if (result.ok) {
      await warnOfRights(place, absolute, result.mode, isSecret);
      return result.text;
    }
    file.faults.add(path, renderFileFault(file, path, absolute !== name, result.reason));
    return undefined;
  }
}

/** Warns of rights that others have on a file that a value names. */
async function warnOfRights({ file, path }: Place, absolute: string, mode: number, isSecret: boolean): Promise<void> {
  const excess = await describeExcessRights(absolute, mode, isSecret ? 'secret' : 'settings');
  if (excess !== undefined) file.faults.warn(path, excess);
}

function renderContentFault(expected: string, kind: SecretKind, fault: 'empty' | 'other'): string {
  return `Expected ${expected} ${kind.expected}; found ${fault === 'empty' ? 'an empty one' : 'other content'}`;
}

/** Renders the fault of a file that a value refers to. */
export function renderFileFault(file: ConfigFile, path: KeyPath, isRelative: boolean, reason: string): string {
  const start = isRelative ? `; relative paths start at ${file.folder}` : '';
  const value = file.source.valueAt(path);
  const shown = describeValue(value, path, file.secretKeys);
  if (shown !== describeKind(value)) return `The file named here, ${shown}, ${reason}${start}`;
  return `The file named here ${reason}${start}. Its name is not shown, because it may be the secret itself`;
}

const BLOCK = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]*-----END CERTIFICATE-----/g;

/**
 * Parses a bundle of certificates. Returns only the certificates, as PEM, without comments and keys in the same file;
 * `undefined` if there is no certificate or one of them is damaged.
 */
function parseCertificates(pem: string): string | undefined {
  const blocks = pem.match(BLOCK) ?? [];
  // A truncated block does not match the pattern, and must not be ignored.
  if (blocks.length === 0 || blocks.length !== pem.split('-----BEGIN CERTIFICATE-----').length - 1) return undefined;
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
function isPrivateKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).type === 'private';
  } catch {
    return false;
  }
}
