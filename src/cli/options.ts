import { Option } from 'commander';

/** `--config.file`, which most commands have. */
export function configOption(): Option {
  return new Option('--config.file <path>', 'configuration file').default('router-exporter.yaml');
}
