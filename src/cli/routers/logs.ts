import { readRouterTime } from '../../agent/index.ts';
import { createSystemClock, renderErrorChain } from '../../base/index.ts';
import {
  followOnce,
  LineMatcher,
  openArchivePool,
  parseListing,
  parseStampUtcMs,
  type RecordLog,
  Zone,
} from '../../logs/index.ts';
import type { DownloadFacts, RouterClient } from '../../router/index.ts';
import type { ConfigFlags } from '../configuration.ts';
import { type CommandIo, EXIT, type ExitCode, renderJson, writeResult } from '../terminal/io.ts';
import { countBytes, openProgress, renderTable } from '../terminal/show.ts';
import { withRouter } from './connect.ts';

/** `logs list`: lists the log files of a router. */
export function listLogs(
  flags: ConfigFlags & { readonly router: string; readonly isJson: boolean; readonly hasSizes: boolean },
  io: CommandIo,
): Promise<ExitCode> {
  return withRouter(flags, flags.router, io, async ({ client }) => {
    const names = await client.listLogs(io.signal);
    const { logs, unknown } = parseListing(names);
    const sizes = flags.hasSizes ? await readSizes(names, client, io) : undefined;
    const shown = sizes ? names.map((name) => ({ name, bytes: sizes.get(name) ?? null })) : names;
    const rows = [...logs].map(([component, { current, rotated }]) => [
      component,
      current === undefined ? 'no' : 'yes',
      String(rotated.length),
      renderStampTime(rotated[0]?.stamp),
      renderStampTime(rotated.at(-1)?.stamp),
      ...(sizes
        ? [
            renderBytes(current === undefined ? [] : [current], sizes),
            renderBytes(
              rotated.map(({ name }) => name),
              sizes,
            ),
          ]
        : []),
    ]);
    const header = ['COMPONENT', 'CURRENT', 'ARCHIVES', 'OLDEST', 'NEWEST'];
    if (sizes) header.push('BYTES OF CURRENT', 'BYTES OF ARCHIVES');
    await writeResult(flags.isJson ? renderJson(shown) : renderTable(header, rows), io);
    if (unknown > 0) io.stderr.write(`${unknown} files have unknown names and are ignored\n`);
    return EXIT.done;
  });
}

/**
 * Asks for the size of each file, because a router lists names alone: of a router that sends parts of files, one byte of each.
 * Files whose size it does not say are left out.
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
      // A part of an empty file does not exist; a file may be gone by now.
      if (Object(cause).status === 416) sizes.set(name, 0);
      else if (Object(cause).status !== 404) throw cause;
    }
  }
  return sizes;
}

/** Renders the sum of sizes; with `>`, if some are unknown. */
function renderBytes(names: readonly string[], sizes: ReadonlyMap<string, number>): string {
  const known = names.flatMap((name) => sizes.get(name) ?? []);
  if (known.length === 0) return '';
  const sum = known.reduce((all, bytes) => all + bytes, 0);
  return `${known.length < names.length ? '>' : ''}${sum}`;
}

/** Renders the time in the name of a rotated file; empty if there is none. */
function renderStampTime(stamp: string | undefined): string {
  if (stamp === undefined) return '';
  const utcMs = parseStampUtcMs(stamp);
  // A name may have a day that no month has.
  return Number.isNaN(utcMs) ? stamp : new Date(utcMs).toISOString().replace('.000Z', 'Z');
}

/**
 * `logs fetch`: prints everything that a router still has, or the named files, as records. It reads as the agent does, with
 * the same order, uids, redaction and gaps, but keeps no state.
 */
export function fetchLogs(
  flags: ConfigFlags & { readonly router: string; readonly files: readonly string[] },
  io: CommandIo,
): Promise<ExitCode> {
  return withRouter(flags, flags.router, io, async ({ settings, client, redact }) => {
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
        if (lines.length > 0) written = writeResult(`${lines.join('\n')}\n`, io);
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
