/** Log shippers as peers of the whole agent: fed by `bzcat`, each writes JSON to a file. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from '../test/support/free-port.ts';
import { processorSecondsOf } from './whole-agent.ts';

/** A shipper, and how it is run. */
export interface LogShipper {
  readonly name: string;
  /** Command that prints its version: the first number with a point in it. */
  readonly versionCommand: readonly [string, ...string[]];
  /** Where it can be had. */
  readonly source: string;
  /** Writes its configuration into the folder; returns its command, and what `bzcat` is sent to: a file or a TCP port. */
  readonly prepare: (places: Places) => { readonly command: readonly [string, ...string[]]; readonly input: string };
}

interface Places {
  readonly folder: string;
  /** For its input. */
  readonly port: number;
  /** For records. */
  readonly out: string;
}

/** Takes stamp, word in brackets and message off each line, as gawk does in the other rows. */
const LINE_END = String.raw`\[(?P<tag>[^\]]*)\] (?P<message>.*)$`;
const RSYSLOG_RECORD = String.raw`{\"timestamp\":\"%rawmsg:1:10%T%rawmsg:12:19%Z\",\"tag\":\"%rawmsg:R,ERE,1,FIELD:\\[([^]]*)\\]--end%\",\"message\":\"%rawmsg:R,ERE,1,FIELD:\\] (.*)$--end:json%\"}\n`;

const LIMIT_MS = 60_000;
const POLL_MS = 2;
/** More than the last batch of any of them. */
const TAIL_BYTES = 256 * 1024;
const TIMES = /^(\d+\.\d+) (\d+\.\d+)$/m;

export const SHIPPERS: readonly LogShipper[] = [
  {
    name: 'rsyslogd',
    versionCommand: ['rsyslogd', '-v'],
    source: 'Debian: rsyslog',
    prepare({ folder, port, out }) {
      const config = join(folder, 'rsyslog.conf');
      writeFileSync(
        config,
        `global(workDirectory="${folder}" maxMessageSize="64k")
module(load="imptcp")
template(name="json" type="string" string="${RSYSLOG_RECORD}")
ruleset(name="in" queue.type="LinkedList" queue.size="200000" queue.dequeueBatchSize="5000") {
  action(type="omfile" file="${out}" template="json" ioBufferSize="256k")
}
input(type="imptcp" port="${port}" address="127.0.0.1" ruleset="in" supportOctetCountedFraming="off")
`,
      );
      return { command: ['rsyslogd', '-n', '-f', config, '-i', join(folder, 'pid')], input: toTcp(port) };
    },
  },
  {
    name: 'syslog-ng',
    versionCommand: ['syslog-ng', '-V'],
    source: 'Debian: syslog-ng-core, which replaces rsyslog: unpack it with dpkg -x instead',
    prepare({ folder, port, out }) {
      const config = join(folder, 'syslog-ng.conf');
      writeFileSync(
        config,
        `@version: 3.35
options { use-dns(no); log-msg-size(65536); stats-freq(0); };
source in { network(ip("127.0.0.1") port(${port}) transport("tcp") flags(no-parse) log-iw-size(100000) log-fetch-limit(1000)); };
parser line { regexp-parser(patterns('^(?P<day>\\S+) (?P<time>\\S+) ${LINE_END}')); };
destination out { file("${out}" template("$(format-json timestamp=\${day}T\${time}Z tag=\${tag} message=\${message})\\n") flush-lines(1000)); };
log { source(in); parser(line); destination(out); flags(flow-control); };
`,
      );
      const files = ['persist-file', 'pidfile', 'control'].map((name) => `--${name}=${join(folder, name)}`);
      return { command: ['syslog-ng', '-F', '-f', config, ...files], input: toTcp(port) };
    },
  },
  {
    name: 'OpenTelemetry Collector, receiver `filelog`,',
    versionCommand: ['otelcol-filelog', 'components'],
    source: '(cd bench/peers/collector && ./build <a folder of PATH>)',
    prepare({ folder, out }) {
      const [config, input] = [join(folder, 'collector.yaml'), join(folder, 'log.txt')];
      writeFileSync(
        config,
        `receivers:
  filelog:
    include: ["${input}"]
    start_at: beginning
    poll_interval: 10ms
    operators:
      - type: regex_parser
        regex: '^(?P<time>\\S+ \\S+) ${LINE_END}'
        timestamp: { parse_from: attributes.time, layout: '%Y-%m-%d %H:%M:%S' }
exporters: { file: { path: "${out}", flush_interval: 10ms } }
service:
  pipelines: { logs: { receivers: [filelog], exporters: [file] } }
  telemetry: { logs: { level: error }, metrics: { level: none } }
`,
      );
      return { command: ['otelcol-filelog', `--config=file:${config}`], input };
    },
  },
];

/** Version of the shipper on this machine; `undefined` without one. */
export function findVersion({ versionCommand: [program, ...args] }: LogShipper): string | undefined {
  try {
    return /\d+\.\d[\w.]*/.exec(execFileSync(program, args, { encoding: 'utf8' }))?.[0];
  } catch {
    return undefined;
  }
}

/**
 * Feeds the archive to a shipper that runs already. Ends when the last line, given as it stands in the text, is in the file.
 * Seconds, `bzcat` included.
 */
export async function runShipper(
  { name, prepare }: LogShipper,
  archive: string,
  lastLine: string,
): Promise<{ readonly seconds: number; readonly processorSeconds: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'log-shipper-'));
  const places = { folder, port: await findFreePort(), out: join(folder, 'records.ndjson') };
  const { command, input } = prepare(places);
  const [program, ...args] = command;
  const daemon = spawn(program, args, { stdio: 'ignore' });
  const ended = once(daemon, 'exit');
  try {
    await untilReady(name, input, places.port);
    const before = processorSecondsOf(daemon);
    const start = performance.now();
    // The text may end within a line.
    const script = `TIMEFORMAT='%3U %3S'; time { bzcat "${archive}"; echo; } > ${input}`;
    const feed = spawn('bash', ['-c', script], { stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    feed.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    await once(feed, 'close');
    await untilWritten(places.out, JSON.stringify(lastLine.slice(lastLine.indexOf('] ') + 2)).slice(1));
    const seconds = (performance.now() - start) / 1000;
    const [, user, system] = TIMES.exec(said) ?? [];
    return { seconds, processorSeconds: processorSecondsOf(daemon) - before + Number(user) + Number(system) };
  } finally {
    daemon.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true });
  }
}

function toTcp(port: number): string {
  return `/dev/tcp/127.0.0.1/${port}`;
}

/** What reads a file has no sign of being ready: it is given a second. */
async function untilReady(name: string, input: string, port: number): Promise<void> {
  if (input !== toTcp(port)) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    return;
  }
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
  throw new RangeError(`${name} did not listen within ${LIMIT_MS} ms`);
}

/** Waits until the end of the file holds this text, which ends the last message as JSON has it. */
async function untilWritten(path: string, ending: string): Promise<void> {
  for (const end = performance.now() + LIMIT_MS; performance.now() < end; ) {
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    const bytes = Buffer.alloc(Math.min(size, TAIL_BYTES));
    if (size > 0) {
      const file = openSync(path, 'r');
      readSync(file, bytes, 0, bytes.length, size - bytes.length);
      closeSync(file);
    }
    if (bytes.includes(ending)) return;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new RangeError(`Not all lines were in ${path} after ${LIMIT_MS} ms`);
}
