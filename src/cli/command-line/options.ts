import type * as typed from '@commander-js/extra-typings';
import * as commander from 'commander';

/** commander, with the types of a command's options and arguments inferred from their declaration. */
export const { Argument, Command, InvalidArgumentError, Option } = commander as unknown as typeof typed;

export type Program = typed.Command;

export function collect(value: string, earlier: readonly string[]): readonly string[] {
  return [...earlier, value];
}

export function configOption() {
  return new Option('--config.file <path>', 'configuration file').default('router-exporter.yaml');
}

export function storageOption() {
  return new Option('--storage.path <folder>', 'folder of the state; replaces storage.path of the file');
}

/** More processes for one fleet are certainly a mistake. */
export const SHARDS_MAX = 1000;

/** Parses an index, or a name that ends in a hyphen and an index, as of pods of a StatefulSet. */
export function parseShard(text: string): number {
  const index = Number(/^(?:[^-].*-)?(\d{1,4})$/.exec(text)?.[1] ?? Number.NaN);
  if (index < SHARDS_MAX) return index;
  throw new InvalidArgumentError(`Expected a whole number from 0 to ${SHARDS_MAX - 1}, or a name such as exporter-0.`);
}

export function parseWholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= min && number <= max) return number;
    throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
  };
}
