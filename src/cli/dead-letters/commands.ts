import { InvalidArgumentError } from 'commander';
import { parseDuration } from '../../base/index.ts';
import { configOption, type Program, parseWholeNumber, storageOption, toConfigFlags } from '../options.ts';
import type { CommandIo, ExitCode } from '../terminal/io.ts';

/** Maximum of `--limit`. */
const LIST_MAX = 100_000;

/** Adds `dead-letters` and its subcommands. They can be used while the agent runs. */
export function addDeadLetterCommands(program: Program, io: CommandIo, finish: (code: ExitCode) => void): void {
  const letters = program.command('dead-letters').description('Records that a sink rejected permanently.');
  letters
    .command('list')
    .description('List dead letters, newest first.')
    .addOption(configOption())
    .addOption(storageOption())
    .option('--sink <name>', 'of this sink alone')
    .option('--limit <count>', 'how many', parseWholeNumber(1, LIST_MAX), 50)
    .option('--json', 'for programs')
    .action(async (options) => {
      const { listLetters } = await import('./dead-letters.ts');
      const flags = {
        ...toConfigFlags(options),
        sink: options.sink,
        limit: options.limit,
        isJson: options.json === true,
      };
      finish(await listLetters(flags, io));
    });
  letters
    .command('show')
    .description('Show one dead letter with its record.')
    .argument('<number>', 'as dead-letters list shows it', parseNumber)
    .addOption(configOption())
    .addOption(storageOption())
    .action(async (id, options) => {
      const { showLetter } = await import('./dead-letters.ts');
      finish(await showLetter({ ...toConfigFlags(options), id }, io));
    });
  letters
    .command('replay')
    .description('Have the agent retry dead letters, within 30 s if it is running.')
    .argument('[number...]', 'as dead-letters list shows them', collectNumber)
    .addOption(configOption())
    .addOption(storageOption())
    .option('--sink <name>', 'of this sink alone')
    .option('--all', 'all, or all of --sink')
    .action(async (ids, options) => {
      requireChoice(letters, ids, options);
      const { replayLetters } = await import('./dead-letters.ts');
      finish(
        await replayLetters(
          {
            ...toConfigFlags(options),
            sink: options.sink,
            ids: ids ?? [],
          },
          io,
        ),
      );
    });
  letters
    .command('drop')
    .description('Remove dead letters permanently. Asks for confirmation.')
    .argument('[number...]', 'as dead-letters list shows them', collectNumber)
    .addOption(configOption())
    .addOption(storageOption())
    .option('--sink <name>', 'of this sink alone')
    .option('--older-than <duration>', 'only those older than this, such as 7d', parseAge)
    .option('--all', 'all, or all of --sink')
    .option('--yes', 'do not ask')
    .action(async (ids, options) => {
      requireChoice(letters, ids, options);
      const { dropLetters } = await import('./dead-letters.ts');
      const flags = {
        ...toConfigFlags(options),
        sink: options.sink,
        ids: ids ?? [],
        olderThanMs: options.olderThan,
        isAgreed: options.yes === true,
      };
      finish(await dropLetters(flags, io));
    });
}

/** Requires an explicit selection: `drop` alone must not mean all. */
function requireChoice(
  command: Program,
  ids: readonly number[] | undefined,
  options: { readonly all?: boolean | undefined; readonly olderThan?: number | undefined },
): void {
  const isChosen = (ids?.length ?? 0) > 0 || options.all === true || options.olderThan !== undefined;
  if (!isChosen) command.error('error: specify numbers as shown by dead-letters list, or --all');
}

function parseNumber(text: string): number {
  return parseWholeNumber(1, Number.MAX_SAFE_INTEGER)(text);
}

function collectNumber(text: string, earlier: readonly number[] = []): readonly number[] {
  return [...earlier, parseNumber(text)];
}

function parseAge(text: string): number {
  const ageMs = parseDuration(text);
  if (ageMs === undefined) throw new InvalidArgumentError('Expected a duration with its unit, as in 12h or 7d.');
  return ageMs;
}
