import type { KeyPath, Place } from '../../settings/index.ts';
import { refuseBoth } from '../../settings/index.ts';
import { checkMetric } from './check-metric.ts';
import { canHaveOuterRow, hasSlot, isRootPath } from './grammar.ts';
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

/** Checks where labels come from; `findFault` knows what only the place of the labels can tell. */
function checkSources(
  { path: resourcePath, each }: ResourceSettings,
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
      (source === '$slot' && resourcePath !== undefined && !hasSlot(resourcePath)
        ? '$slot needs a "path" whose first segment ends in a number or "*"'
        : undefined);
    if (message !== undefined) file.faults.add([...path, label], message);
  }
}
