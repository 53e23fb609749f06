import type * as typed from '@commander-js/extra-typings';
import * as commander from 'commander';
import type { ConfigFlags } from './configuration.ts';

/** Commander with the types of a command's options and arguments inferred from their declaration. These types are all that is added to it. */
export const { Argument, Command, InvalidArgumentError, Option } = commander as unknown as typeof typed;

/** The command line, to which commands are added. */
export type Program = typed.Command;

/** Collects the values of a repeatable flag. */
export function collect(value: string, earlier: readonly string[]): readonly string[] {
  return [...earlier, value];
}

/** `--config.file`, which most commands have. */
export function configOption() {
  return new Option('--config.file <path>', 'configuration file').default('router-exporter.yaml');
}

/** `--storage.path` of commands that work with what the agent has stored. */
export function storageOption() {
  return new Option('--storage.path <folder>', 'folder of the state; replaces storage.path of the file');
}

/** Returns the flags of {@link configOption} and {@link storageOption}. */
export function toConfigFlags(options: {
  readonly 'config.file': string;
  readonly 'storage.path'?: string | undefined;
}): ConfigFlags {
  return { configFile: options['config.file'], storagePath: options['storage.path'] };
}

/** Maximum of `--total-shards`; more processes for one fleet are certainly a mistake. */
export const SHARDS_MAX = 1000;

/** Parses `--shard`: the index of a process, or a name with it behind the last hyphen, as pods of a StatefulSet have. */
export function parseShard(text: string): number {
  const index = Number(/^(?:[^-].*-)?(\d{1,4})$/.exec(text)?.[1] ?? Number.NaN);
  if (index < SHARDS_MAX) return index;
  throw new InvalidArgumentError(`Expected a whole number from 0 to ${SHARDS_MAX - 1}, or a name such as exporter-0.`);
}

/** Creates a parser for flags that are whole numbers within bounds. */
export function parseWholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= min && number <= max) return number;
    throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
  };
}
