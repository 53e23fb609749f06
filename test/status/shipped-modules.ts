import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { parseDuration } from '../../src/base/index.ts';
import type { MetricDefinition, ModuleDefinition } from '../../src/status/index.ts';
import { SHIPPED_MODULES_FOLDER } from '../../src/status/index.ts';

type Raw = Readonly<Record<string, unknown>>;

/** A metric as a module file may leave it. */
function toMetric(raw: Raw): MetricDefinition {
  const { null_values: nullValues, null_when: nullWhen, state_label: stateLabel, prefixes, ...rest } = raw;
  return {
    labels: {},
    hasBinaryPrefixes: prefixes === 'binary',
    nullValues: nullValues ?? ['', '---'],
    nullWhen,
    stateLabel: stateLabel ?? 'state',
    help: 'Something.',
    type: 'gauge',
    ...rest,
  } as unknown as MetricDefinition;
}

function toResource({ optional, metrics, source, ...rest }: Raw): ModuleDefinition['resources'][number] {
  return {
    isOptional: optional ?? false,
    each: 'status.unique',
    labels: {},
    ...rest,
    metrics: ((metrics ?? []) as Raw[]).map((metric) =>
      toMetric(source === undefined ? metric : { ...metric, source }),
    ),
  } as unknown as ModuleDefinition['resources'][number];
}

/** A module as its file says it, with the defaults of the format; checks nothing. */
export function toModule(name: string, raw: Raw): ModuleDefinition {
  return {
    name,
    help: typeof raw['help'] === 'string' ? raw['help'] : '',
    intervalMs: toMs(raw['interval']),
    minIntervalMs: toMs(raw['min_interval']),
    isIdentity: raw['identity'] === true,
    resources: ((raw['resources'] ?? []) as Raw[]).map(toResource),
    reader: raw['reader'] as ModuleDefinition['reader'],
  };
}

function toMs(duration: unknown): number | undefined {
  return typeof duration === 'string' ? parseDuration(duration) : undefined;
}

/** What each shipped file says, by the name of its module. */
export function readShippedFiles(): ReadonlyMap<string, Raw> {
  const files = readdirSync(SHIPPED_MODULES_FOLDER).filter((file) => file.endsWith('.yaml'));
  return new Map(
    files
      .toSorted()
      .map((file) => [
        file.replace('.yaml', ''),
        parse(readFileSync(new URL(file, SHIPPED_MODULES_FOLDER), 'utf8')) as Raw,
      ]),
  );
}

/** Every shipped module, also those that are not in the default set. */
export function loadShippedModules(): readonly ModuleDefinition[] {
  return [...readShippedFiles()].map(([name, raw]) => toModule(name, raw));
}
