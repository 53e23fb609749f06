import type { KeyPath, Place } from '../../settings/index.ts';
import { refuseBoth } from '../../settings/index.ts';
import { checkMetric } from './check-metric.ts';
import { canHaveOuterRow, hasSlot, isRootPath, JOINED } from './grammar.ts';
import type { ListedModule } from './module-definition.ts';
import type { ResourceSettings } from './module-schema.ts';

/** Checks what the schema cannot say about one module: which of its keys go together. */
export function checkModule({ settings, place, isShipped }: ListedModule): void {
  const { file, path } = place;
  const isSet = (key: string) => file.source.valueAt([...path, key]) !== undefined;
  refuseBoth(place, 'interval', 'min_interval');
  // What is faulty may only be a misspelt key.
  if (isShipped && isSet('reader') === isSet('resources') && !file.faults.touches(path)) {
    const message = 'A shipped module has either "resources" or a "reader"';
    file.faults.add([...path, isSet('reader') ? 'reader' : 'resources'], message, { aim: 'key' });
  }
  for (const [index, resource] of (settings.resources ?? []).entries()) {
    checkResource(resource, { file, path: [...path, 'resources', index] });
  }
}

function checkResource(resource: ResourceSettings, place: Place): void {
  const { file, path } = place;
  const isBelowRoot = resource.path !== undefined && isRootPath(resource.path);
  if (isBelowRoot && file.source.valueAt([...path, 'each']) === undefined) {
    file.faults.add([...path, 'each'], 'Missing key; expected where the rows are, because "path" begins with "/"');
  }
  const metrics = resource.metrics ?? [];
  checkJoin(resource, place);
  for (const at of [path, ...metrics.map((_, index) => [...path, 'metrics', index])])
    refuseEmptyCondition({ file, path: at });
  checkSources(resource, resource.labels ?? {}, { file, path: [...path, 'labels'] }, (source) =>
    // Each metric has a match of its own, and some may have none.
    source === '$match' && !metrics.every(({ value }) => value === undefined || value.includes('*'))
      ? '$match needs a "*" in "value" of every metric of the resource'
      : undefined,
  );
  for (const [index, metric] of metrics.entries()) {
    const metricPath: KeyPath = [...path, 'metrics', index];
    checkSources(resource, metric.labels ?? {}, { file, path: [...metricPath, 'labels'] }, (source) =>
      source === '$match' && metric.value !== undefined && !metric.value.includes('*')
        ? '$match needs a "*" in "value"'
        : undefined,
    );
    checkMetric(metric, resource, { file, path: metricPath });
  }
}

/** Checks that a join can be made, and has a use. */
function checkJoin({ join, labels, metrics, path: resourcePath }: ResourceSettings, { file, path }: Place): void {
  if (!join) return;
  const at = [...path, 'join'];
  const isBelowRoot = join.path !== undefined && isRootPath(join.path);
  if (isBelowRoot && file.source.valueAt([...at, 'each']) === undefined) {
    file.faults.add([...at, 'each'], 'Missing key; expected where the rows are, because "path" begins with "/"');
  }
  if (join.by === '$slot' && resourcePath !== undefined && !hasSlot(resourcePath)) {
    file.faults.add([...at, 'by'], '$slot needs a "path" whose first segment ends in a number or "*"');
  }
  const sources = [labels, ...(metrics ?? []).map((metric) => metric.labels)].flatMap((map) =>
    Object.values(map ?? {}),
  );
  if (file.faults.touches(path) || sources.some((source) => source.startsWith(JOINED))) return;
  file.faults.add(at, `"join" has no effect: no label comes from a joined row, as "${JOINED}description"`, {
    aim: 'key',
  });
}

function refuseEmptyCondition({ file, path }: Place): void {
  const condition = file.source.valueAt([...path, 'when']);
  if (typeof condition !== 'object' || condition === null || Object.keys(condition).length > 0) return;
  file.faults.add([...path, 'when'], 'Expected "firmware", "board", or both; found neither', { aim: 'key' });
}

/** Checks where labels come from; `findFault` knows what only the place of the labels can tell. */
function checkSources(
  { path: resourcePath, each, join }: ResourceSettings,
  sources: Readonly<Record<string, string>>,
  { file, path }: Place,
  findFault: (source: string) => string | undefined,
): void {
  for (const [label, source] of Object.entries(sources)) {
    const message =
      findFault(source) ??
      (source.startsWith('..') && each !== undefined && !canHaveOuterRow(each)
        ? `${source} needs rows of a list, such as status.list or status.list[].sublist in "each"`
        : undefined) ??
      (source.startsWith(JOINED) && !join ? `${source} needs "join" in the resource` : undefined) ??
      (source === '$slot' && resourcePath !== undefined && !hasSlot(resourcePath)
        ? '$slot needs a "path" whose first segment ends in a number or "*"'
        : undefined);
    if (message !== undefined) file.faults.add([...path, label], message);
  }
}
