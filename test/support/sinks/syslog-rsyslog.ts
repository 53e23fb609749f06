import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';
import { startProgram } from '../child.ts';
import { findFreePort } from '../free-port.ts';

/** What rsyslog made of a message: its properties, by their names. */
interface RsyslogMessage {
  readonly pri: string;
  readonly timereported: string;
  readonly hostname: string;
  readonly 'app-name': string;
  readonly procid: string;
  readonly msgid: string;
  readonly 'structured-data': string;
  readonly msg: string;
  readonly inputname: string;
}

export interface Rsyslog extends AsyncDisposable {
  readonly host: string;
  /** Of the TCP or TLS input. */
  readonly port: number;
  readonly udpPort: number;
  messages(): readonly RsyslogMessage[];
  /** Ends it as an operator would. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** What it said about itself. */
  readonly log: string;
}

export interface RsyslogOptions {
  /** PEM; absent: plain TCP. */
  readonly tls?:
    | { readonly caPem: string; readonly cert: string; readonly key: string; readonly isClientAsked?: boolean }
    | undefined;
}

const PROPERTIES = [
  'pri',
  'timereported',
  'hostname',
  'app-name',
  'procid',
  'msgid',
  'structured-data',
  'msg',
  'inputname',
] as const;

/** A real rsyslog with a configuration of its own, which writes every message as a line of JSON. */
export async function openRsyslog({ tls }: RsyslogOptions = {}): Promise<Rsyslog> {
  const folder = mkdtempSync(join(tmpdir(), 'router-exporter-rsyslog-'));
  const output = join(folder, 'messages');
  const [port, udpPort] = [await findFreePort(), await findFreePort()];
  if (tls) {
    for (const [name, pem] of Object.entries({ ca: tls.caPem, cert: tls.cert, key: tls.key })) {
      writeFileSync(join(folder, `${name}.pem`), pem);
    }
  }
  writeFileSync(join(folder, 'rsyslog.conf'), renderConfig({ folder, output, port, udpPort, tls }));
  writeFileSync(output, '');

  const start = async () => {
    const file = join(folder, 'rsyslog.conf');
    const started = startProgram('rsyslogd', ['-n', '-f', file, '-i', join(folder, 'pid')]);
    await vi.waitFor(() => reach(port), { timeout: 20_000, interval: 50 });
    return started;
  };
  let program = await start();
  return {
    host: '127.0.0.1',
    port,
    udpPort,
    messages: () =>
      readFileSync(output, 'utf8')
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as RsyslogMessage),
    get log() {
      return program.stderr + program.stdout;
    },
    async stop() {
      program.process.kill('SIGTERM');
      await program.ended;
    },
    async start() {
      program = await start();
    },
    async [Symbol.asyncDispose]() {
      await program[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function renderConfig(options: {
  readonly folder: string;
  readonly output: string;
  readonly port: number;
  readonly udpPort: number;
  readonly tls: RsyslogOptions['tls'];
}): string {
  const { folder, output, port, udpPort, tls } = options;
  const driver = tls
    ? `defaultNetstreamDriver="gtls" defaultNetstreamDriverCAFile="${folder}/ca.pem" defaultNetstreamDriverCertFile="${folder}/cert.pem" defaultNetstreamDriverKeyFile="${folder}/key.pem"`
    : '';
  const mode = tls
    ? ` streamDriver.name="gtls" streamDriver.mode="1" streamDriver.authMode="${tls.isClientAsked ? 'x509/certvalid' : 'anon'}"`
    : '';
  return `
global(workDirectory="${folder}" maxMessageSize="64k" parser.escapeControlCharactersOnReceive="off" ${driver})
module(load="imtcp"${mode})
module(load="imudp")
template(name="json" type="list" option.jsonf="on") {
${PROPERTIES.map((name) => `  property(outname="${name}" name="${name}" format="jsonf"${name === 'timereported' ? ' dateFormat="rfc3339"' : ''})`).join('\n')}
}
ruleset(name="all") { action(type="omfile" file="${output}" template="json") }
input(type="imtcp" address="127.0.0.1" port="${port}" ruleset="all")
input(type="imudp" address="127.0.0.1" port="${udpPort}" ruleset="all")
`;
}

/** Resolves when something listens there. */
function reach(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve();
    });
    socket.on('error', reject);
  });
}
