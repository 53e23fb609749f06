import { createSystemClock, renderBytes, renderErrorChain, renderLength, toPrintable } from '../base/index.ts';
import type { DownloadFacts, RouterClient } from '../client/index.ts';
import {
  followOnce,
  LineMatcher,
  openArchivePool,
  parseListing,
  parseStampUtcMs,
  type RecordLog,
  Zone,
} from '../logs/index.ts';
import type { LogRecord } from '../model/index.ts';
import { readRouterTime } from '../status/index.ts';
import {
  type CommandIo,
  countBytes,
  EXIT,
  type ExitCode,
  openProgress,
  renderJson,
  renderTable,
  writeResult,
} from './support/io.ts';
import { type ConfigFlags, withRouter } from './support/read-config.ts';

/** `logs list`: lists the log files of a router. */
export function listLogs(
  flags: ConfigFlags & {
    readonly router: string;
    readonly json?: boolean | undefined;
    readonly sizes?: boolean | undefined;
  },
  io: CommandIo,
): Promise<ExitCode> {
  return withRouter(flags, io, async ({ client }) => {
    const names = await client.listLogs(io.signal);
    const { logs, unknown } = parseListing(names);
    const sizes = flags.sizes ? await readSizes(names, client, io) : undefined;
    const shown = sizes ? names.map((name) => ({ name, bytes: sizes.get(name) ?? null })) : names;
    const rows = [...logs].map(([component, { current, rotated }]) => [
      component,
      current === undefined ? 'no' : 'yes',
      String(rotated.length),
      renderAge(rotated[0]?.stamp),
      renderAge(rotated.at(-1)?.stamp),
      ...(sizes
        ? [
            renderSize(current === undefined ? [] : [current], sizes),
            renderSize(
              rotated.map(({ name }) => name),
              sizes,
            ),
          ]
        : []),
    ]);
    const header = ['COMPONENT', 'CURRENT', 'ARCHIVES', 'OLDEST', 'NEWEST'];
    if (sizes) header.push('SIZE OF CURRENT', 'SIZE OF ARCHIVES');
    const numeric = new Set(header.slice(2));
    await writeResult(flags.json ? renderJson(shown) : renderTable(header, rows, undefined, numeric), io);
    if (unknown > 0) io.stderr.write(`${unknown} files have unknown names and are ignored\n`);
    return EXIT.done;
  });
}

/**
 * A listing has only names. Routers that support ranges send one byte of each file with its size. Files of unknown size
 * are omitted.
 */
async function readSizes(
  names: readonly string[],
  client: RouterClient,
  io: CommandIo,
): Promise<ReadonlyMap<string, number>> {
  const sizes = new Map<string, number>();
  for (const name of names) {
    try {
      const find = (_body: unknown, _start: number, { fileBytes }: DownloadFacts) => Promise.resolve(fileBytes);
      const bytes = await client.readLog(name, io.signal, find, { start: 0, last: 0 });
      if (bytes !== undefined) sizes.set(name, bytes);
    } catch (cause) {
      io.signal.throwIfAborted();
      // An empty file has no range; any other file may have been removed.
      if (Object(cause).status === 416) sizes.set(name, 0);
      else if (Object(cause).status !== 404) throw cause;
    }
  }
  return sizes;
}

/** With `>`, if some sizes are unknown. */
function renderSize(names: readonly string[], sizes: ReadonlyMap<string, number>): string {
  const known = names.flatMap((name) => sizes.get(name) ?? []);
  if (known.length === 0) return '';
  const sum = known.reduce((all, bytes) => all + bytes, 0);
  return `${known.length < names.length ? '> ' : ''}${renderBytes(sum)}`;
}

function renderAge(stamp: string | undefined): string {
  if (stamp === undefined) return '';
  const utcMs = parseStampUtcMs(stamp);
  // A name may contain an impossible date.
  return Number.isNaN(utcMs)
    ? stamp
    : `${renderLength(Math.max(0, Math.floor((createSystemClock().now() - utcMs) / 1000)))} ago`;
}

/** For people: `2026-11-29T14:02:11Z network WARNING [wan] message`. */
function renderLine(json: string): string {
  const { timestamp, component, severity, tag, message } = JSON.parse(json) as LogRecord;
  const time = timestamp ? timestamp.replace(/\.\d+/, '') : '-';
  return toPrintable([time, component, severity, tag && `[${tag}]`, message].filter(Boolean).join(' '));
}

/**
 * `logs fetch`: prints everything that a router still has, or the named files, as records (on a terminal, as lines for
 * people), with the order, uids, redaction and gaps of the agent. Stores no position.
 */
export function fetchLogs(
  flags: ConfigFlags & { readonly router: string; readonly files: readonly string[] },
  io: CommandIo,
): Promise<ExitCode> {
  return withRouter(flags, io, async ({ settings, client, redact }) => {
    await using archives = openArchivePool({ workers: 2 });
    const progress = openProgress(io);
    let exitCode: ExitCode = EXIT.done;
    let written = Promise.resolve();
    // A slow reader of the records slows down the download (back-pressure).
    const paced = async function* (body: AsyncIterable<Uint8Array>) {
      for await (const chunk of body) {
        await written;
        yield chunk;
      }
    };
    const records: RecordLog = {
      readPositions: () => new Map(),
      readFacts: () => undefined,
      commit: (...commits) => {
        const lines = commits.flatMap((commit) => ('lines' in commit ? [...commit.lines] : []));
        if (lines.length === 0) return;
        // Or the first line would follow the progress on its line of the terminal.
        progress.end();
        const shown = io.stdout.isTTY ? lines.map(renderLine) : lines;
        written = writeResult(`${shown.join('\n')}\n`, io);
      },
    };
    const isChosen = (name: string) => flags.files.length === 0 || flags.files.includes(name);
    const missing = new Set(flags.files);
    try {
      await followOnce(
        {
          router: settings,
          source: {
            listLogs: async (signal) => {
              const names = (await client.listLogs(signal)).filter(isChosen);
              for (const name of names) missing.delete(name);
              return names;
            },
            readLog: (name, signal, consume) =>
              client.readLog(name, signal, (body) => consume(countBytes(paced(body), name, progress))),
          },
          records,
          archives,
          clock: createSystemClock(),
          zone: new Zone(settings.timezone),
          readTime: (signal) => readRouterTime(client, signal),
          matcher: new LineMatcher([], redact),
          isWanted: () => true,
          isOnlyRun: true,
          historyBytesMax: Number.POSITIVE_INFINITY,
          report: (event) => {
            if (event.type !== 'log-failed' && event.type !== 'archive-unfinished') return;
            io.stderr.write(`${event.file}: ${renderErrorChain(event.cause)}\n`);
            exitCode = EXIT.failed;
          },
        },
        io.signal,
      );
      await written;
    } finally {
      progress.end();
    }
    for (const name of missing) io.stderr.write(`${name}: the router does not list this file; see logs list\n`);
    return missing.size > 0 ? EXIT.failed : exitCode;
  });
}
