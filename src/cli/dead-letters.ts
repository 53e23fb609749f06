import { createSystemClock, renderErrorChain } from '../base/index.ts';
import { loadCluster } from '../cluster/index.ts';
import type { Config } from '../config/index.ts';
import { type DeadLetters, type StoredDeadLetter, StoreError } from '../model/index.ts';
import { DeadLetterStore } from '../store/index.ts';
import { type CommandIo, confirm, EXIT, type ExitCode, renderJson, renderTable, writeResult } from './support/io.ts';
import { type ConfigFlags, readConfig, refuseConfig } from './support/read-config.ts';

const clock = createSystemClock();

interface DeadLetterSelection {
  /** Numbers as shown by `list`. Empty: all that match the other fields. */
  readonly ids: readonly number[];
  readonly sink?: string | undefined;
}

/** `dead-letters list`: lists the records that sinks rejected permanently, newest first. */
export function listDeadLetters(
  flags: ConfigFlags & {
    readonly sink?: string | undefined;
    readonly limit: number;
    readonly json?: boolean | undefined;
  },
  io: CommandIo,
): Promise<ExitCode> {
  return withDeadLetters(flags, io, async (deadLetters) => {
    const { sink, limit } = flags;
    const found = await deadLetters.list({ sink, limit });
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
    await writeResult(flags.json ? renderJson(json) : renderTable(header, rows), io);
    const total = deadLetters.count(sink);
    if (total > found.length) io.stderr.write(`${found.length} of ${total} shown; raise --limit for more\n`);
    return EXIT.done;
  });
}

/** `dead-letters show`: prints one dead letter with its record as stored. */
export function showDeadLetter(flags: ConfigFlags & { readonly id: number }, io: CommandIo): Promise<ExitCode> {
  return withDeadLetters(flags, io, async (deadLetters) => {
    const deadLetter = await deadLetters.get(flags.id);
    if (!deadLetter) {
      io.stderr.write(`There is no dead letter ${flags.id}; see dead-letters list\n`);
      return EXIT.failed;
    }
    const whole = { ...toEntry(deadLetter), record: JSON.parse(deadLetter.line) as unknown };
    await writeResult(renderJson(whole), io);
    return EXIT.done;
  });
}

/**
 * `dead-letters replay`: marks dead letters for retry, by the running agent within 30 s or by the next one at its
 * start.
 */
export function replayDeadLetters(flags: ConfigFlags & DeadLetterSelection, io: CommandIo): Promise<ExitCode> {
  return withDeadLetters(flags, io, async (deadLetters, { sinks }) => {
    const count = await deadLetters.markReplay(toSelection(flags));
    await writeResult(`${renderDeadLetters(count)} will be tried again\n`, io);
    if (isMissing(flags, count, io)) return EXIT.failed;
    const { sink } = flags;
    if (sink !== undefined && !sinks.some(({ name }) => name === sink)) {
      io.stderr.write(`The configuration has no sink "${sink}"; the dead letters wait until it is added\n`);
    }
    return EXIT.done;
  });
}

/** `dead-letters drop`: removes dead letters permanently, after confirmation. */
export function dropDeadLetters(
  flags: ConfigFlags &
    DeadLetterSelection & { readonly olderThan?: number | undefined; readonly yes?: boolean | undefined },
  io: CommandIo,
): Promise<ExitCode> {
  return withDeadLetters(flags, io, async (deadLetters) => {
    const question = 'Drop these dead letters? Their records are not delivered to the sink and cannot be brought back.';
    const refusal = await confirm(question, flags.yes, io);
    if (refusal !== undefined) return refusal;
    const count = await deadLetters.drop({ ...toSelection(flags), olderThanMs: flags.olderThan });
    await writeResult(`${renderDeadLetters(count)} dropped\n`, io);
    return isMissing(flags, count, io) ? EXIT.failed : EXIT.done;
  });
}

/** Without the record, which `show` prints. */
function toEntry({ id, sink, uid, router, component, timestamp, reason, code, atMs, isReplayed }: StoredDeadLetter) {
  return { id, sink, uid, router, component, timestamp, reason, code, at: new Date(atMs).toISOString(), isReplayed };
}

function renderDeadLetters(count: number): string {
  return `${count} ${count === 1 ? 'dead letter' : 'dead letters'}`;
}

/** Returns true, with a message on stderr, if some of the given numbers do not exist. */
function isMissing({ ids }: DeadLetterSelection, found: number, io: CommandIo): boolean {
  const missing = new Set(ids).size - found;
  if (ids.length === 0 || missing === 0) return false;
  io.stderr.write(`${missing} of these numbers ${missing === 1 ? 'does' : 'do'} not exist; see dead-letters list\n`);
  return true;
}

function toSelection({ ids, sink }: DeadLetterSelection) {
  return { ids: ids.length === 0 ? undefined : ids, sink };
}

async function withDeadLetters(
  flags: ConfigFlags,
  io: CommandIo,
  work: (deadLetters: DeadLetters, config: Config) => Promise<ExitCode>,
): Promise<ExitCode> {
  const loaded = await readConfig(flags);
  if (!loaded.ok) return refuseConfig(loaded, io);
  const { config } = loaded;
  const { cluster } = config;
  try {
    // An explicit folder may have dead letters from before the cluster.
    if (cluster && flags['storage.path'] === undefined) {
      const { toNatsServers, withClusterDeadLetters } = await loadCluster();
      const of = { servers: toNatsServers(cluster, clock), cluster: cluster.name };
      return await withClusterDeadLetters(of, (deadLetters) => work(deadLetters, config));
    }
    using deadLetters = new DeadLetterStore({ path: config.storage.path, role: 'guest', now: () => clock.now() });
    return await work(deadLetters, config);
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause;
    io.stderr.write(`${renderErrorChain(cause)}\n`);
    return EXIT.failed;
  }
}
