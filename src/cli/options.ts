import type * as typed from '@commander-js/extra-typings';
import * as commander from 'commander';

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

/** Creates a parser for flags that are whole numbers within bounds. */
export function parseWholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= min && number <= max) return number;
    throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
  };
}
