import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { AddressInfo, Server as TcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import forge from 'node-forge';
import { onTestFinished } from 'vitest';
import { type CommandEnd, type CommandOptions, runCommand } from './run-command.ts';

/** A step in the document of `doctor --json`. */
export interface JsonStep {
  readonly step: string;
  readonly result: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly message: string;
  readonly hint?: string;
  readonly duration_ms?: number;
  readonly bytes?: number;
}

interface JsonRouter {
  readonly router: string;
  readonly url: string;
  readonly result: string;
  readonly duration_ms: number;
  readonly sent_bytes: number;
  readonly received_bytes: number;
  readonly steps: readonly JsonStep[];
  readonly learnt: Readonly<Record<string, unknown>>;
}

export interface Examined extends CommandEnd {
  readonly routers: readonly JsonRouter[];
  readonly sinks: readonly { readonly sink: string; readonly steps: readonly JsonStep[] }[] | undefined;
  /** Of the first router. */
  readonly steps: readonly JsonStep[];
  readonly learnt: Readonly<Record<string, unknown>>;
  readonly find: (step: string) => JsonStep | undefined;
}

/** Writes a configuration into a folder of its own, with `ca.pem`. */
export async function writeConfig(text: string, caPem = ''): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'router-exporter-doctor-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'router-exporter.yaml');
  await writeFile(file, text);
  if (caPem !== '') await writeFile(join(folder, 'ca.pem'), caPem);
  return file;
}

/** Runs `doctor` on a configuration. */
export async function doctor(
  text: string,
  { caPem, args = [], ...options }: { caPem?: string; args?: readonly string[] } & CommandOptions = {},
): Promise<CommandEnd> {
  return runCommand(['doctor', ...args, '--config.file', await writeConfig(text, caPem)], options);
}

/** Runs `doctor --json` on a configuration. */
export async function examine(text: string, caPem?: string, args: readonly string[] = []): Promise<Examined> {
  const end = await doctor(text, { ...(caPem !== undefined && { caPem }), args: [...args, '--json'] });
  const { routers, sinks } = JSON.parse(end.stdout) as Pick<Examined, 'routers' | 'sinks'>;
  const [{ steps, learnt } = { steps: [], learnt: {} }] = routers;
  return { ...end, routers, sinks, steps, learnt, find: (step) => steps.find((one) => one.step === step) };
}

/** Steps as `login failed`, those of resources that a device does not have left out. */
export function listSteps(steps: readonly JsonStep[]): string[] {
  return steps
    .filter(({ result, duration_ms: ms }) => result !== 'skipped' || ms === undefined)
    .map(({ step, result }) => `${step} ${result}`);
}

/** Serves on loopback until the end of the test; resolves with the URL. */
export async function serve(
  listener: RequestListener,
  certificate?: ServerOptions,
  watch: (server: TcpServer) => void = () => {},
): Promise<string> {
  const server = certificate ? createTlsServer(certificate, listener) : createServer(listener);
  watch(server);
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return `${certificate ? 'https' : 'http'}://127.0.0.1:${await listen(server)}`;
}

export async function listen(server: TcpServer): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

function createKeys(modulusLength: number) {
  return generateKeyPairSync('rsa', {
    modulusLength,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
}

const KEYS = createKeys(2048);

export interface ForgedCertificate {
  readonly cert: string;
  readonly key: string;
  /** As a certificate of `forge`. */
  readonly subject: readonly forge.pki.CertificateField[];
}

interface ForgedOptions {
  readonly days?: number;
  /** Alternative names: type 2 is a host name, 7 an address. Default: the name, as a host name. */
  readonly altNames?: readonly object[];
  /** Length of an RSA key of its own. */
  readonly bits?: number;
  readonly digest?: 'md5' | 'sha1' | 'sha256';
  /** Who signs it. Default: itself. */
  readonly issuer?: ForgedCertificate;
  readonly isAuthority?: boolean;
}

/** A certificate with this common name. */
export function forgeCertificate(name: string, options: ForgedOptions = {}): ForgedCertificate {
  const { days = 400, bits, digest = 'sha256', issuer, isAuthority = issuer === undefined } = options;
  const { altNames = [{ type: 2, value: name }] } = options;
  const keys = bits === undefined ? KEYS : createKeys(bits);
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = forge.pki.publicKeyFromPem(keys.publicKey);
  certificate.serialNumber = `4a${Buffer.from(name).toString('hex').slice(0, 20)}`;
  certificate.validity.notBefore = new Date('2020-01-01T00:00:00Z');
  certificate.validity.notAfter = new Date(Date.now() + days * 86_400_000 + 60_000);
  const subject = [{ name: 'commonName', value: name }];
  certificate.setSubject(subject);
  certificate.setIssuer([...(issuer?.subject ?? subject)]);
  certificate.setExtensions([
    { name: 'basicConstraints', critical: true, cA: isAuthority },
    ...(altNames.length > 0 ? [{ name: 'subjectAltName', altNames }] : []),
  ]);
  certificate.sign(forge.pki.privateKeyFromPem(issuer?.key ?? keys.privateKey), forge.md[digest].create());
  return { cert: forge.pki.certificateToPem(certificate), key: keys.privateKey, subject };
}

/** A certificate that is its own authority, for these names and addresses, valid for so many days from now. */
export function createSelfSigned(name: string, days: number): { readonly cert: string; readonly key: string } {
  const { cert, key } = forgeCertificate(name, { days });
  return { cert, key };
}
