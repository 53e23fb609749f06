import { createSystemClock, renderErrorChain } from '../base/index.ts';
import { toNatsServers } from '../cluster/index.ts';
import type { Config } from '../config/index.ts';
import {
  DeadLetterStore,
  type DeadLetters,
  type StoredLetter,
  StoreError,
  withClusterLetters,
} from '../store/index.ts';
import { type ConfigFlags, readConfig, refuseConfig } from './configuration.ts';
import { type CommandIo, EXIT, type ExitCode, renderJson, writeResult } from './terminal/io.ts';
import { confirm, renderTable } from './terminal/show.ts';

const clock = createSystemClock();

/** Selects dead letters. */
export interface LetterSelection {
  /** Numbers as shown by `list`; empty = all that match the other fields. */
  readonly ids: readonly number[];
  /** Name of the sink; `undefined` = every sink. */
  readonly sink: string | undefined;
}

/** `dead-letters list`: lists the records that sinks rejected permanently, newest first. */
export function listLetters(
  flags: ConfigFlags & { readonly sink: string | undefined; readonly limit: number; readonly isJson: boolean },
  io: CommandIo,
): Promise<ExitCode> {
  return withLetters(flags, io, async (letters) => {
    const { sink, limit, isJson } = flags;
    const found = await letters.list({ sink, limit });
    const json = found.map(toEntry);
    const rows = json.map(({ id, sink: name, at, router, component, code = '', reason, isReplayed }) => [
      String(id),
      name,
      at,
      `${router}/${component}`,
      code,
      isReplayed ? `${reason} (retry pending)` : reason,
    ]);
    const header = ['NUMBER', 'SINK', 'TIME (UTC)', 'LOG', 'CODE', 'REASON'];
    await writeResult(isJson ? renderJson(json) : renderTable(header, rows), io);
    const total = letters.count(sink);
    if (total > found.length) io.stderr.write(`${found.length} of ${total} shown; raise --limit for more\n`);
    return EXIT.done;
  });
}

/** `dead-letters show`: prints one dead letter with its record as stored. */
export function showLetter(flags: ConfigFlags & { readonly id: number }, io: CommandIo): Promise<ExitCode> {
  return withLetters(flags, io, async (letters) => {
    const letter = await letters.get(flags.id);
    if (!letter) {
      io.stderr.write(`There is no dead letter ${flags.id}; see dead-letters list\n`);
      return EXIT.failed;
    }
    const whole = { ...toEntry(letter), record: JSON.parse(letter.line) as unknown };
    await writeResult(renderJson(whole), io);
    return EXIT.done;
  });
}

/** `dead-letters replay`: marks letters for retry by the running agent within 30 s, or by the next one when it starts. */
export function replayLetters(flags: ConfigFlags & LetterSelection, io: CommandIo): Promise<ExitCode> {
  return withLetters(flags, io, async (letters, { sinks }) => {
    const count = await letters.markReplay(toSelection(flags));
    await writeResult(`${renderLetters(count)} will be tried again\n`, io);
    if (isMissing(flags, count, io)) return EXIT.failed;
    const { sink } = flags;
    if (sink !== undefined && !sinks.some(({ name }) => name === sink)) {
      io.stderr.write(`The configuration has no sink "${sink}"; the dead letters wait until it is added\n`);
    }
    return EXIT.done;
  });
}

/** `dead-letters drop`: removes letters permanently, after confirmation. */
export function dropLetters(
  flags: ConfigFlags & LetterSelection & { readonly olderThanMs: number | undefined; readonly isAgreed: boolean },
  io: CommandIo,
): Promise<ExitCode> {
  return withLetters(flags, io, async (letters) => {
    const question = 'Drop these dead letters? Their records are not delivered to the sink and cannot be brought back.';
    const refusal = await confirm(question, flags.isAgreed, io);
    if (refusal !== undefined) return refusal;
    const count = await letters.drop({ ...toSelection(flags), olderThanMs: flags.olderThanMs });
    await writeResult(`${renderLetters(count)} dropped\n`, io);
    return isMissing(flags, count, io) ? EXIT.failed : EXIT.done;
  });
}

/** Renders a letter without its record, which `show` prints. */
function toEntry({ id, sink, uid, router, component, timestamp, reason, code, atMs, isReplayed }: StoredLetter) {
  return { id, sink, uid, router, component, timestamp, reason, code, at: new Date(atMs).toISOString(), isReplayed };
}

function renderLetters(count: number): string {
  return `${count} ${count === 1 ? 'dead letter' : 'dead letters'}`;
}

/** Returns true, with a message on stderr, when some of the given numbers do not exist. */
function isMissing({ ids }: LetterSelection, found: number, io: CommandIo): boolean {
  const missing = new Set(ids).size - found;
  if (ids.length === 0 || missing === 0) return false;
  io.stderr.write(`${missing} of these numbers ${missing === 1 ? 'does' : 'do'} not exist; see dead-letters list\n`);
  return true;
}

function toSelection({ ids, sink }: LetterSelection) {
  return { ids: ids.length === 0 ? undefined : ids, sink };
}

async function withLetters(
  { configFile, storagePath }: ConfigFlags,
  io: CommandIo,
  work: (letters: DeadLetters, config: Config) => Promise<ExitCode>,
): Promise<ExitCode> {
  const loaded = await readConfig(configFile, { storagePath });
  if (!loaded.ok) return refuseConfig(loaded, io);
  const { config } = loaded;
  const { cluster } = config;
  try {
    // A folder that was named may hold those from before the cluster.
    if (cluster && storagePath === undefined) {
      const of = { servers: toNatsServers(cluster, clock), cluster: cluster.name };
      return await withClusterLetters(of, (letters) => work(letters, config));
    }
    using letters = new DeadLetterStore({ path: config.storage.path, role: 'guest', now: () => clock.now() });
    return await work(letters, config);
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause;
    io.stderr.write(`${renderErrorChain(cause)}\n`);
    return EXIT.failed;
  }
}
