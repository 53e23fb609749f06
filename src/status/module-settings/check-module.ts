import { compileAt, findNameFault, type KeyPath, type Place, refuseBoth } from '../../settings/index.ts';
import { COUNT, JOINED, UNKNOWN_STATE, VALUE_GROUP } from './grammar.ts';
import type { MetricSettings } from './metric-schema.ts';
import type { ListedModule, ResourceSettings } from './module-schema.ts';

/** Checks the combinations of keys of one module, which the schema cannot check. */
export function checkModule({ settings, place, isShipped }: ListedModule): void {
  const { file, path } = place;
  const isSet = (key: string) => file.source.valueAt([...path, key]) !== undefined;
  refuseBoth(place, 'interval', 'min_interval');
  // A key with another fault may only be misspelt.
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
  requireRows(resource.path, place);
  const metrics = resource.metrics ?? [];
  checkJoin(resource, place);
  for (const at of [path, ...metrics.map((_, index) => [...path, 'metrics', index])])
    refuseEmptyCondition({ file, path: at });
  checkSources(resource, resource.labels ?? {}, { file, path: [...path, 'labels'] }, (source) =>
    // Each metric has its own match, and some may have none.
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

const NO_SLOT = '$slot needs a "path" whose first segment ends in a number or "*"';

function requireRows(resourcePath: string | undefined, { file, path }: Place): void {
  if (resourcePath === undefined || !isRootPath(resourcePath)) return;
  if (file.source.valueAt([...path, 'each']) !== undefined) return;
  file.faults.add([...path, 'each'], 'Missing key; expected where the rows are, because "path" begins with "/"');
}

function checkJoin({ join, labels, metrics, path: resourcePath }: ResourceSettings, { file, path }: Place): void {
  if (!join) return;
  const at = [...path, 'join'];
  requireRows(join.path, { file, path: at });
  if (join.by === '$slot' && resourcePath !== undefined && !hasSlot(resourcePath)) {
    file.faults.add([...at, 'by'], NO_SLOT);
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

/** `findFault`: for faults that depend on the position of the labels. */
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
      (source === '$slot' && resourcePath !== undefined && !hasSlot(resourcePath) ? NO_SLOT : undefined);
    if (message !== undefined) file.faults.add([...path, label], message);
  }
}

type MetricKey = keyof MetricSettings;

const KEYS_OF_NUMBERS = ['unit', 'prefixes', 'form', 'part', 'bit', 'factor', 'offset', 'map'] as const;
const KEYS_OF_STATES = ['states', 'state_label'] as const;
/** Required and meaningless keys by metric type. */
const KEYS_BY_TYPE: Readonly<
  Record<
    NonNullable<MetricSettings['type']>,
    { readonly needs: readonly MetricKey[]; readonly lacks: readonly MetricKey[] }
  >
> = {
  gauge: { needs: ['value'], lacks: KEYS_OF_STATES },
  counter: { needs: ['value'], lacks: ['good', ...KEYS_OF_STATES] },
  info: { needs: ['labels'], lacks: ['good', 'pattern', ...KEYS_OF_NUMBERS, ...KEYS_OF_STATES] },
  stateset: { needs: ['value', 'states'], lacks: ['good', ...KEYS_OF_NUMBERS] },
};

const FORMS_WITH_PART: ReadonlySet<unknown> = new Set(['list', 'fraction']);
const FORMS_WITH_UNIT: ReadonlySet<unknown> = new Set([undefined, 'number', 'list', 'fraction']);

function checkMetric(metric: MetricSettings, resource: ResourceSettings, place: Place): void {
  const { file, path } = place;
  const refuse = (key: MetricKey, message: string) => file.faults.add([...path, key], message);
  const isSet = (key: MetricKey) => file.source.valueAt([...path, key]) !== undefined;
  const { type } = metric;
  if (type !== undefined) {
    const { needs, lacks } = KEYS_BY_TYPE[type];
    for (const key of needs) {
      if (!isSet(key)) refuse(key, `Missing key; a metric of type "${type}" needs it`);
    }
    for (const key of lacks) {
      if (isSet(key)) {
        file.faults.add([...path, key], `A metric of type "${type}" has no "${key}"`, { aim: 'key' });
      }
    }
    if (type === 'info' && metric.labels && Object.keys(metric.labels).length === 0) {
      refuse('labels', 'Expected at least one label, because they are all that an info metric says');
    }
    if (type === 'info' && isSet('value') !== isSet('null_when')) {
      const [key, other] = isSet('value') ? (['value', 'null_when'] as const) : (['null_when', 'value'] as const);
      refuse(key, `A metric of type "info" has "${key}" only with "${other}", for rows that give no sample`);
    }
    if (type === 'info' && metric.value?.includes('*')) {
      refuse('value', 'A metric of type "info" reads one field, whose name has no "*"');
    }
  }
  const name = findNameFault(metric);
  if (name !== undefined) refuse('name', name);
  for (const [key, message] of findValueFaults(metric, isSet)) {
    // A faulty key, or one that the type does not allow, already has its fault.
    if (!file.faults.covers([...path, key])) refuse(key, message);
  }
  const pattern = compileAt(metric.pattern, { file, path: [...path, 'pattern'] });
  if (pattern && !pattern.groups.includes(VALUE_GROUP)) {
    refuse('pattern', `The pattern has no group "${VALUE_GROUP}", such as (?P<${VALUE_GROUP}>\\d+)`);
  }
  checkStates(metric, place);
  checkLabels(metric, resource, place);
}

/** Checks the keys that turn a text into a number for conflicts. */
function findValueFaults(metric: MetricSettings, isSet: (key: MetricKey) => boolean): [MetricKey, string][] {
  const { value, form, part, unit, map } = metric;
  const faults: [MetricKey, string][] = [];
  const hasPart = FORMS_WITH_PART.has(form);
  if (value === COUNT) return findCountFaults(metric, isSet);
  if (hasPart && part === undefined) faults.push(['part', `Missing key; the form "${form}" needs it`]);
  if (!hasPart && part !== undefined) faults.push(['part', '"part" requires "form: list" or "form: fraction"']);
  if (form === 'fraction' && part !== undefined && part > 2) faults.push(['part', 'A fraction has the parts 1 and 2']);
  if (unit !== undefined && !FORMS_WITH_UNIT.has(form)) faults.push(['unit', `The form "${form}" has no unit`]);
  if (isSet('prefixes') && (unit === undefined || !/^[kKMGTP]?i?B(\/s)?$/.test(unit)))
    faults.push(['prefixes', '"prefixes" requires a unit of bytes, such as "unit: B"']);
  for (const key of ['factor', 'offset'] as const) {
    if (metric.bit !== undefined && metric[key] !== undefined)
      faults.push([key, `"${key}" cannot be combined with "bit"`]);
  }
  for (const key of ['unit', 'form', 'part', 'bit', 'factor', 'offset'] as const) {
    if (map && metric[key] !== undefined) faults.push([key, `"${key}" cannot be combined with "map"`]);
  }
  return faults;
}

/** A count is a number and does not belong to a row. */
function findCountFaults(metric: MetricSettings, isSet: (key: MetricKey) => boolean): [MetricKey, string][] {
  const faults = [...KEYS_OF_NUMBERS, 'pattern' as const, 'null_values' as const, 'null_when' as const]
    .filter(isSet)
    .map((key): [MetricKey, string] => [key, `"${key}" cannot be combined with ${COUNT}`]);
  if (metric.type !== 'gauge') faults.push(['value', `${COUNT} goes up and down, so it needs "type: gauge"`]);
  const isOfRow = (source: string) => !source.startsWith('=') && source !== '$resource' && source !== '$slot';
  if (Object.values(metric.labels ?? {}).some(isOfRow)) {
    faults.push(['labels', `${COUNT} is of no single row, so its labels are $resource, $slot or fixed texts`]);
  }
  return faults;
}

function checkStates({ states = [] }: MetricSettings, { file, path }: Place): void {
  const first = new Map<string, number>();
  for (const [index, state] of states.entries()) {
    const key = state.toLowerCase();
    const earlier = first.get(key);
    const message =
      key === UNKNOWN_STATE
        ? `The state "${UNKNOWN_STATE}" must not be listed: it stands for every text that is not in the list`
        : earlier === undefined
          ? undefined
          : `The state is listed twice, first as number ${earlier + 1}; upper and lower case are the same`;
    if (message !== undefined) file.faults.add([...path, 'states', index], message);
    if (earlier === undefined) first.set(key, index);
  }
}

function checkLabels(metric: MetricSettings, resource: ResourceSettings, { file, path }: Place): void {
  const own = metric.labels ?? {};
  const shared = resource.labels ?? {};
  for (const label of Object.keys(own)) {
    if (!Object.hasOwn(shared, label)) continue;
    const message = `The resource has a label "${label}" for all its metrics already`;
    file.faults.add([...path, 'labels', label], message, { aim: 'key' });
  }
  const { value, type, state_label: stateLabel } = metric;
  if (
    type === 'stateset' &&
    stateLabel !== undefined &&
    (Object.hasOwn(own, stateLabel) || Object.hasOwn(shared, stateLabel))
  ) {
    const message = `The label "${stateLabel}" holds the state; name another one in "state_label", or rename the label`;
    file.faults.add(
      [...path, file.source.valueAt([...path, 'state_label']) === undefined ? 'type' : 'state_label'],
      message,
    );
  }
  if (value?.includes('*') && ![...Object.values(own), ...Object.values(shared)].includes('$match')) {
    const message = 'A value with "*" needs a label from $match to distinguish its series';
    file.faults.add([...path, 'value'], message);
  }
}

/** Below the root of the interface instead of below `/status/`. */
function isRootPath(path: string): boolean {
  return path.startsWith('/');
}

/** The first segment ends in a slot number or a star. */
function hasSlot(path: string): boolean {
  return /^[^/]*[0-9*](\/|$)/.test(path);
}

/** A list has an enclosing row or single values next to it. */
function canHaveOuterRow(rows: string): boolean {
  return rows.includes('[]') || !/(^|\.)unique$/.test(rows);
}
