import { InvalidArgumentError, Option } from 'commander';

/** Gathers the values of a flag that may be given more than once. */
export function collect(value: string, earlier: readonly string[]): readonly string[] {
  return [...earlier, value];
}

/** `--config.file`, which most commands have. */
export function configOption(): Option {
  return new Option('--config.file <path>', 'configuration file').default('router-exporter.yaml');
}

/** Reads a flag that is a whole number within bounds. */
export function parseWholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= min && number <= max) return number;
    throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
  };
}
