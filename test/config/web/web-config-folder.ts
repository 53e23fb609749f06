import { createHash, generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import forge from 'node-forge';
import { renderFault } from '../../../src/settings/index.ts';
import { type LoadedWebConfig, loadWebConfig } from '../../../src/web/index.ts';

/** Of the password "test", as the documentation of the format has one. */
export const HASH = '$2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG';

/** A key and a certificate of its own, valid for a century. */
function createPair(): { readonly key: string; readonly certificate: string } {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const key = privateKey.export({ type: 'pkcs1', format: 'pem' }).toString();
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = forge.pki.publicKeyFromPem(publicKey.export({ type: 'spki', format: 'pem' }).toString());
  certificate.serialNumber = `01${createHash('sha256').update(key).digest('hex').slice(0, 16)}`;
  certificate.validity.notBefore = new Date('2020-01-01T00:00:00Z');
  certificate.validity.notAfter = new Date('2120-01-01T00:00:00Z');
  const name = [{ name: 'commonName', value: 'test' }];
  certificate.setSubject(name);
  certificate.setIssuer(name);
  certificate.sign(forge.pki.privateKeyFromPem(key), forge.md.sha256.create());
  return { key, certificate: forge.pki.certificateToPem(certificate).replaceAll('\r', '') };
}

export const SERVER = createPair();
export const OTHER = createPair();

const FILES = {
  'server.crt': SERVER.certificate,
  'server.key': SERVER.key,
  'other.key': OTHER.key,
  'ca.pem': OTHER.certificate,
  'text.pem': 'hello',
};

export interface WebOutcome {
  readonly loaded: LoadedWebConfig;
  readonly lines: readonly string[];
}

/** Loads `text` as `web.yaml` in a folder with keys and certificates. `during` is called while they exist. */
export async function loadWeb(text: string, during?: (path: string) => void): Promise<WebOutcome> {
  const folder = await mkdtemp(join(tmpdir(), 'router-exporter-web-'));
  try {
    for (const [name, content] of Object.entries(FILES)) await writeFile(join(folder, name), content);
    const path = join(folder, 'web.yaml');
    await writeFile(path, text);
    during?.(path);
    const loaded = await loadWebConfig(path);
    const lines = loaded.ok
      ? []
      : loaded.faults.map((fault) => renderFault(fault).replaceAll(`${folder}/`, '').replaceAll(folder, 'FOLDER'));
    return { loaded, lines };
  } finally {
    await rm(folder, { recursive: true });
  }
}
