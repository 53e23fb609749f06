import { createHash, createPrivateKey, X509Certificate } from 'node:crypto';
import { open, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Secret } from '../../base/index.ts';
import { fingerprint } from '../schema/names.ts';
import type { SoundOf } from '../schema/parts.ts';
import { flag, secretPath, section, text } from '../schema/values.ts';
import type { ConfigFile, Place } from '../source/config-file.ts';
import { describeValue } from '../source/describe-value.ts';
import type { KeyPath } from '../source/fault.ts';

/** The text of a file, or the reason why it cannot be read: `The file X <reason>`. */
export type TextFile =
  | {
      readonly ok: true;
      readonly text: string;
      /** SHA-256 of its bytes, in hexadecimal. */
      readonly digest: string;
      /** Permission bits. */
      readonly mode: number;
    }
  | { readonly ok: false; readonly reason: string };

/** Reads at most `bytesMax` bytes of UTF-8 text. Never rejects; the reason never quotes the content. */
export async function readTextFile(path: string, bytesMax: number): Promise<TextFile> {
  try {
    const info = await stat(path);
    if (info.isDirectory()) return refuse('is a folder');
    // A pipe or a device could keep the start waiting for ever.
    if (!info.isFile()) return refuse('is not a regular file');
    const isTooLarge = `is larger than the limit of ${bytesMax} bytes`;
    if (info.size > bytesMax) return refuse(isTooLarge);
    await using handle = await open(path);
    const decoder = new TextDecoder('utf-8', { fatal: true });
    const hash = createHash('sha256');
    let [content, bytes] = ['', 0];
    for await (const chunk of handle.createReadStream({ end: bytesMax, autoClose: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      content += decoder.decode(chunk, { stream: true });
      hash.update(chunk);
    }
    if (bytes > bytesMax) return refuse(isTooLarge);
    content += decoder.decode();
    return { ok: true, text: content, digest: hash.digest('hex'), mode: info.mode & 0o777 };
  } catch (cause) {
    return refuse(describeFailure(cause));
  }
}

function refuse(reason: string): TextFile {
  return { ok: false, reason };
}

/** Completes "The file …" for an error of the file system. */
export function describeFailure(cause: unknown): string {
  const code: unknown = cause instanceof Error ? Reflect.get(cause, 'code') : undefined;
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return 'does not exist';
    case 'EACCES':
    case 'EPERM':
      return 'may not be read by the user that runs this program';
    case 'ERR_ENCODING_INVALID_ENCODED_DATA':
      return 'is not UTF-8 text';
    default:
      return `cannot be read (${typeof code === 'string' ? code : 'unknown reason'})`;
  }
}

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
    const content = await this.#read(place, name, CA_FILE_BYTES_MAX);
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

  /** Reads a secret of one line, without its line end. */
  async readSecret(place: Place, name: string, kind: SecretKind = PASSWORD): Promise<Secret | undefined> {
    const content = (await this.#read(place, name, kind.bytesMax ?? PASSWORD_FILE_BYTES_MAX))?.replace(/\r?\n$/, '');
    if (content === '') {
      place.file.faults.add(place.path, `Expected a file that holds ${kind.expected}; found an empty one`);
    } else if (content !== undefined && kind.isValid?.(content) === false) {
      place.file.faults.add(place.path, `Expected a file that holds ${kind.expected}; found other content`);
      return undefined;
    }
    return content ? new Secret(content) : undefined;
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

/** Verification of the peer of a TLS connection, and the client certificate. */
export interface TlsSettings {
  /** Certificates of the authorities to trust instead of the system's, as PEM. */
  readonly caPem: string | undefined;
  /** Name that the certificate must carry, when it is not the host of the URL. */
  readonly serverName: string | undefined;
  /** Client certificate, as PEM. */
  readonly certPem: string | undefined;
  /** Private key of `certPem`, as PEM. */
  readonly keyPem: Secret | undefined;
  /**
   * SHA-256 of the certificate that the other side must have: 64 hexadecimal digits. Without `caPem` no authority is needed, as
   * with the self-signed certificate of a new router.
   */
  readonly fingerprintSha256: string | undefined;
  /** True to accept any certificate. */
  readonly insecureSkipVerify: boolean;
}

/** The same as options of a connection: every key is optional, and the private key is in clear text. */
export type ClientTls = Partial<Omit<TlsSettings, 'keyPem'> & { readonly keyPem: string | undefined }>;

/** Descriptions of the section and its keys, for the reference. */
export interface TlsDescriptions {
  readonly section: string;
  readonly caFile: string;
  readonly serverName: string;
  readonly certFile: string;
  readonly fingerprint: string;
  readonly insecure: string;
}

/** Builds the schema of a section `tls`. */
export function tlsSection(descriptions: TlsDescriptions) {
  return section(descriptions.section, {
    ca_file: text({ description: descriptions.caFile, kind: 'path' }).optional(),
    server_name: text({ description: descriptions.serverName }).optional(),
    cert_file: text({ description: descriptions.certFile, kind: 'path' }).optional(),
    key_file: secretPath('PEM file with the private key of `cert_file`, without a passphrase.').optional(),
    fingerprint_sha256: fingerprint({ description: descriptions.fingerprint }).optional(),
    insecure_skip_verify: flag({ description: descriptions.insecure }).prefault(false),
  });
}

/** The valid keys of the section. */
export type WrittenTls = SoundOf<ReturnType<typeof tlsSection>>;

/** Reads the files of the section at `place`, and applies the defaults. */
export async function readTls(place: Place, tls: WrittenTls = {}, reader: NamedFileReader): Promise<TlsSettings> {
  return toTlsSettings(tls, await reader.readTls(place, tls));
}

/** Combines the keys of the section with the content of its files, and applies the defaults. */
export function toTlsSettings(tls: WrittenTls, { caPem, certPem, keyPem }: TlsFiles): TlsSettings {
  return {
    caPem,
    serverName: tls.server_name,
    certPem,
    keyPem,
    fingerprintSha256: tls.fingerprint_sha256,
    insecureSkipVerify: tls.insecure_skip_verify ?? false,
  };
}

/** Renders settings as the section, with the content of files summarised in brackets; `undefined` when all are defaults. */
export function renderTls(tls: TlsSettings): object | undefined {
  const { caPem, certPem } = tls;
  const keys = {
    ca_file: caPem && `[${caPem.split('-----BEGIN CERTIFICATE').length - 1} certificates]`,
    server_name: tls.serverName,
    cert_file: certPem && '[certificate]',
    key_file: tls.keyPem?.toString(),
    fingerprint_sha256: tls.fingerprintSha256,
    insecure_skip_verify: tls.insecureSkipVerify || undefined,
  };
  return Object.values(keys).every((value) => value === undefined) ? undefined : keys;
}

/** Converts settings to the options of a connection, with the key in clear text. */
export function revealTls({ keyPem, ...tls }: TlsSettings): ClientTls {
  return { ...tls, keyPem: keyPem?.reveal() };
}
