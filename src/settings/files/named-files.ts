import { createPrivateKey, X509Certificate } from 'node:crypto';
import { join, resolve } from 'node:path';
import { Secret } from '../../base/index.ts';
import { fingerprint } from '../schema/names.ts';
import type { SoundOf } from '../schema/parts.ts';
import { flag, secretPath, section, text } from '../schema/values.ts';
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

  /**
   * Reads the secret `name` of the map at `place`, in the form in which it is written: see {@link secretShape}. `keys` are
   * the valid keys of the map.
   */
  async readSecret(place: Place, name: string, keys: object, kind: SecretKind = PASSWORD): Promise<Secret | undefined> {
    const { file, path } = place;
    const at = (suffix: string): Place => ({ file, path: [...path, `${name}${suffix}`] });
    const writtenAs = (suffix: string): unknown => Reflect.get(keys, `${name}${suffix}`);
    const [written, secretFile] = [writtenAs(''), writtenAs('_file')];
    if (typeof secretFile === 'string') return await this.readSecretFile(at('_file'), secretFile, kind);
    const credential = writtenAs('_credential');
    if (typeof credential === 'string') return await this.#readCredential(at('_credential'), credential, kind);
    const command: unknown = writtenAs('_command');
    if (Array.isArray(command)) return await this.#runCommand(at('_command'), command.map(String), kind);
    return written instanceof Secret ? written : undefined;
  }

  /** Reads a secret from the file that the value at `place` names, without its last line end. */
  async readSecretFile(place: Place, name: string, kind: SecretKind = PASSWORD): Promise<Secret | undefined> {
    const { file, path } = place;
    const absolute = resolve(file.folder, name);
    const found = await this.#readOrigin(file, { kind: 'file', path: absolute }, kind);
    if (found.ok) {
      await warnOfRights(place, absolute, found.mode, true);
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

  async #readCredential({ file, path }: Place, name: string, kind: SecretKind): Promise<Secret | undefined> {
    const { credentialsFolder } = file.surroundings;
    if (credentialsFolder === undefined) {
      const message =
        'There are no credentials: systemd sets CREDENTIALS_DIRECTORY for a service with LoadCredential= or SetCredential=';
      file.faults.add(path, message);
      return undefined;
    }
    const found = await this.#readOrigin(file, { kind: 'file', path: join(credentialsFolder, name) }, kind);
    if (found.ok) return found.secret;
    const { fault, reason } = found;
    file.faults.add(
      path,
      fault === 'unreadable'
        ? `The credential named here ${reason} (${credentialsFolder}); see LoadCredential= of the service`
        : renderContentFault('a credential that holds', kind, fault),
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
  const excess = await describeExcessRights(absolute, mode, isSecret);
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
    ca_file: renderCertificates(caPem),
    server_name: tls.serverName,
    cert_file: certPem && '[certificate]',
    key_file: tls.keyPem?.toString(),
    fingerprint_sha256: tls.fingerprintSha256,
    insecure_skip_verify: tls.insecureSkipVerify || undefined,
  };
  return Object.values(keys).every((value) => value === undefined) ? undefined : keys;
}

/** Summarises certificates in brackets; `undefined` without any. */
export function renderCertificates(pem: string | undefined): string | undefined {
  const count = (pem ?? '').split('-----BEGIN CERTIFICATE').length - 1;
  return pem && `[${count} certificate${count === 1 ? '' : 's'}]`;
}

/** Converts settings to the options of a connection, with the key in clear text. */
export function revealTls({ keyPem, ...tls }: TlsSettings): ClientTls {
  return { ...tls, keyPem: keyPem?.reveal() };
}
