import { createPrivateKey, X509Certificate } from 'node:crypto';
import { resolve, sep } from 'node:path';
import { z } from 'zod';
import { Secret } from '../../base/index.ts';
import { unwrap } from '../schema/parts.ts';
import { describeKind, describeValue } from '../schema/secret-keys.ts';
import { type Content, findContent, type WrittenSecret } from '../schema/values.ts';
import type { ConfigFile, Place } from '../source/config-file.ts';
import type { KeyPath } from '../source/fault.ts';
import type { ReadSecret, SecretKind, SecretOrigin } from './secret-keeper.ts';
import { describeExcessRights, readTextFile, type TextFile } from './text-file.ts';

/** Four times a bundle of all public authorities. */
const CA_FILE_BYTES_MAX = 1024 ** 2;

/**
 * The keys of a section, with paths replaced by what they name: the content of files, secrets, absolute paths. The
 * value of `NAME_file` or `header_files` moves to `NAME` or `headers`.
 */
export type Filled<Keys> = {
  [Key in keyof Keys as IsSecond<Key, Keys> extends true ? never : Key]: FilledValue<Key, Keys[Key]>;
};

type IsSecond<Key, Keys> = Key extends 'header_files'
  ? true
  : Key extends `${infer First}_file`
    ? First extends keyof Keys
      ? true
      : false
    : false;

type FilledValue<Key, Value> = Key extends 'key_file' | 'credentials_file'
  ? Secret | Extract<Value, undefined>
  : Value extends Secret | string | number | boolean | undefined | null
    ? Value
    : Value extends readonly (infer Item)[]
      ? FilledValue<'', Item>[]
      : keyof Value extends 'file' | 'command'
        ? never
        : Value extends object
          ? Filled<Value>
          : Value;

/** Reads the files that settings refer to, each once. A fault is at the value. */
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

  /** Reads what the keys of the section at `place` name. Omits, with a fault, what cannot be read. */
  async readSection<Keys extends object>(
    { file, path }: Place,
    schema: z.ZodObject,
    keys: Keys,
  ): Promise<Filled<Keys>> {
    const filled: Record<string, unknown> = {};
    for (const [key, value] of Object.entries(keys)) {
      const part: z.core.$ZodType | undefined = schema.shape[key];
      const found = part ? await this.#readPart({ file, path: [...path, key] }, part, value) : value;
      if (found === undefined) continue;
      const first = findFirstKey(key, schema);
      filled[first] = first === 'headers' ? Object.assign(filled[first] ?? {}, found) : found;
    }
    return filled as Filled<Keys>;
  }

  async #readPart(place: Place, schema: z.core.$ZodType, value: unknown): Promise<unknown> {
    if (schema instanceof z.ZodOptional || schema instanceof z.ZodPrefault) {
      return await this.#readPart(place, schema.unwrap(), value);
    }
    const content = findContent(schema);
    if (content !== undefined) return await this.#readContent(place, content, value);
    if (typeof value !== 'object' || value === null || schema instanceof z.ZodPipe) return value;
    if (schema instanceof z.ZodArray) {
      const items = Object.values(value).map((item, index) =>
        this.#readPart(toInner(place, index), schema.element, item),
      );
      return await Promise.all(items);
    }
    if (schema instanceof z.ZodRecord) {
      const read: Record<string, unknown> = {};
      for (const [key, item] of Object.entries(value)) {
        const found = await this.#readPart(toInner(place, key), schema.valueType, item);
        if (found !== undefined) read[key] = found;
      }
      return read;
    }
    const inner = unwrap(schema, value);
    return inner instanceof z.ZodObject ? await this.readSection(place, inner, value) : value;
  }

  async #readContent(place: Place, content: Content, value: unknown): Promise<unknown> {
    if (typeof value === 'string') {
      if (content === 'path') return resolve(place.file.folder, value);
      if (content === 'certificates') return await this.readCertificates(place, value);
      if (content === 'private key') return await this.readKey(place, value);
      return await this.#readSecretFile(place, value, content);
    }
    if (content === 'path' && Array.isArray(value)) {
      return value.map((one) => resolve(place.file.folder, String(one)));
    }
    if (value instanceof Secret || typeof content === 'string') return value;
    const { file: name, command }: Exclude<WrittenSecret, Secret> = Object(value);
    if (name !== undefined) return await this.#readSecretFile(toInner(place, 'file'), name, content);
    return command && (await this.#runCommand(toInner(place, 'command'), command, content));
  }

  async #readSecretFile(place: Place, name: string, kind: SecretKind): Promise<Secret | undefined> {
    const { file, path } = place;
    const absolute = resolve(file.folder, name);
    const found = await this.#readOrigin(file, { kind: 'file', path: absolute }, kind);
    if (found.ok) {
      // systemd makes credentials readable for all, in a folder that only the service can enter.
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
        'Commands are legal in the main file only: otherwise, anyone who may list routers could run programs here';
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

function findFirstKey(key: string, { shape }: z.ZodObject): string {
  if (key === 'header_files') return 'headers';
  const first = key.replace(/_file$/, '');
  return Object.hasOwn(shape, first) ? first : key;
}

function toInner({ file, path }: Place, step: string | number): Place {
  return { file, path: [...path, step] };
}

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
 * Returns only the certificates, as PEM, without comments and keys of the same file; `undefined` if there is none or
 * one is damaged.
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

function isPrivateKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).type === 'private';
  } catch {
    return false;
  }
}
