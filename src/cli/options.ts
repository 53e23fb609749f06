import { Option } from 'commander';

/** Gathers the values of a flag that may be given more than once. */
export function collect(value: string, earlier: readonly string[]): readonly string[] {
  return [...earlier, value];
}

/** `--config.file`, which most commands have. */
export function configOption(): Option {
  return new Option('--config.file <path>', 'configuration file').default('router-exporter.yaml');
}
