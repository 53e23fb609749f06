/** rsyslogd as a peer of the whole agent: fed by `bzcat`, it writes JSON lines to a file. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processorSecondsOf } from './whole-agent.ts';

const PROGRAM = '/usr/sbin/rsyslogd';
const LIMIT_MS = 60_000;
const POLL_MS = 2;
const TAIL_BYTES = 4096;
const TIMES = /^(\d+\.\d+) (\d+\.\d+)$/m;
/** Stamp, word in brackets and message, taken off each line as gawk does it in the other rows. */
const RECORD = String.raw`{\"timestamp\":\"%rawmsg:1:10%T%rawmsg:12:19%Z\",\"tag\":\"%rawmsg:R,ERE,1,FIELD:\\[([^]]*)\\]--end%\",\"message\":\"%rawmsg:R,ERE,1,FIELD:\\] (.*)$--end:json%\"}\n`;

/** Version of the rsyslogd of this machine; `undefined` without one. */
export function findRsyslog(): string | undefined {
  try {
    return /rsyslogd +(\S+)/.exec(execFileSync(PROGRAM, ['-v'], { encoding: 'utf8' }))?.[1];
  } catch {
    return undefined;
  }
}

/** Feeds the archive to a rsyslogd that runs already. Ends when the last line is in the file. Seconds, `bzcat` included. */
export async function runRsyslog(
  archive: string,
  lastMessage: string,
): Promise<{ readonly seconds: number; readonly processorSeconds: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'rsyslog-'));
  const port = await findPort();
  const out = join(folder, 'records.ndjson');
  const config = join(folder, 'rsyslog.conf');
  writeFileSync(
    config,
    `global(workDirectory="${folder}" maxMessageSize="64k")
module(load="imptcp")
template(name="json" type="string" string="${RECORD}")
ruleset(name="in" queue.type="LinkedList" queue.size="200000" queue.dequeueBatchSize="5000") {
  action(type="omfile" file="${out}" template="json" ioBufferSize="256k")
}
input(type="imptcp" port="${port}" address="127.0.0.1" ruleset="in" supportOctetCountedFraming="off")
`,
  );
  const daemon = spawn(PROGRAM, ['-n', '-f', config, '-i', join(folder, 'pid')], { stdio: 'ignore' });
  try {
    await untilListening(port);
    const before = processorSecondsOf(daemon);
    const start = performance.now();
    // The text may end within a line.
    const script = `TIMEFORMAT='%3U %3S'; time { bzcat "${archive}"; echo; } > /dev/tcp/127.0.0.1/${port}`;
    const feed = spawn('bash', ['-c', script], { stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    feed.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    await once(feed, 'close');
    await untilWritten(out, JSON.stringify(lastMessage));
    const seconds = (performance.now() - start) / 1000;
    const [, user, system] = TIMES.exec(said) ?? [];
    return { seconds, processorSeconds: processorSecondsOf(daemon) - before + Number(user) + Number(system) };
  } finally {
    daemon.kill('SIGTERM');
    await once(daemon, 'exit');
    rmSync(folder, { recursive: true });
  }
}

async function findPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function untilListening(port: number): Promise<void> {
  for (const end = performance.now() + LIMIT_MS; performance.now() < end; ) {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isOpen) return;
    await new Promise((resolve) => setTimeout(resolve, 10 * POLL_MS));
  }
  throw new RangeError(`rsyslogd did not listen within ${LIMIT_MS} ms`);
}

/** Waits until the file ends with a record of this message, given as JSON. */
async function untilWritten(path: string, message: string): Promise<void> {
  for (const end = performance.now() + LIMIT_MS; performance.now() < end; ) {
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    const bytes = Buffer.alloc(Math.min(size, TAIL_BYTES));
    if (size > 0) {
      const file = openSync(path, 'r');
      readSync(file, bytes, 0, bytes.length, size - bytes.length);
      closeSync(file);
    }
    if (bytes.toString('latin1').endsWith(`${message}}\n`)) return;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new RangeError(`Not all lines were in ${path} after ${LIMIT_MS} ms`);
}
