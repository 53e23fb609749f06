import type { Place } from '../../settings/index.ts';
import { compileAt, findNameFault } from '../../settings/index.ts';
import { COUNT, VALUE_GROUP } from './grammar.ts';
import type { MetricSettings } from './metric-schema.ts';
import type { ResourceSettings } from './module-schema.ts';

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
  counter: { needs: ['value'], lacks: KEYS_OF_STATES },
  info: { needs: ['labels'], lacks: ['pattern', ...KEYS_OF_NUMBERS, ...KEYS_OF_STATES] },
  stateset: { needs: ['value', 'states'], lacks: KEYS_OF_NUMBERS },
};

const FORMS_WITH_PART: ReadonlySet<unknown> = new Set(['list', 'fraction']);
const FORMS_WITH_UNIT: ReadonlySet<unknown> = new Set([undefined, 'number', 'list', 'fraction']);
/** Gets every text that is not in the list, so that it cannot be in the list. */
const STATE_UNKNOWN = 'unknown';

/** Checks what the schema cannot say about one metric: its name, and which of its keys go together. */
export function checkMetric(metric: MetricSettings, resource: ResourceSettings, place: Place): void {
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
      refuse('value', 'A metric of type "info" looks at one field, whose name has no "*"');
    }
  }
  const name = findNameFault(metric);
  if (name !== undefined) refuse('name', name);
  for (const [key, message] of findValueFaults(metric, isSet)) {
    // A key that is faulty itself, or that the type has no use for, has its fault already.
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
  if (!hasPart && part !== undefined) faults.push(['part', '"part" needs "form: list" or "form: fraction" beside it']);
  if (form === 'fraction' && part !== undefined && part > 2) faults.push(['part', 'A fraction has the parts 1 and 2']);
  if (unit !== undefined && !FORMS_WITH_UNIT.has(form)) faults.push(['unit', `The form "${form}" has no unit`]);
  if (isSet('prefixes') && (unit === undefined || !/^[kKMGTP]?i?B(\/s)?$/.test(unit)))
    faults.push(['prefixes', '"prefixes" needs a unit of bytes such as "unit: B" beside it']);
  for (const key of ['factor', 'offset'] as const) {
    if (metric.bit !== undefined && metric[key] !== undefined) faults.push([key, `"${key}" has no use beside "bit"`]);
  }
  for (const key of ['unit', 'form', 'part', 'bit', 'factor', 'offset'] as const) {
    if (map && metric[key] !== undefined)
      faults.push([key, `"${key}" has no use beside "map", which takes every text`]);
  }
  return faults;
}

/** A count is a number already, and of no row. */
function findCountFaults(metric: MetricSettings, isSet: (key: MetricKey) => boolean): [MetricKey, string][] {
  const faults = [...KEYS_OF_NUMBERS, 'pattern' as const, 'null_values' as const, 'null_when' as const]
    .filter(isSet)
    .map((key): [MetricKey, string] => [key, `"${key}" has no use beside ${COUNT}`]);
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
      key === STATE_UNKNOWN
        ? `The state "${STATE_UNKNOWN}" is there without being listed: every text that is not listed becomes it`
        : earlier === undefined
          ? undefined
          : `The state stands in the list already, as number ${earlier + 1}; upper and lower case are the same`;
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
    const message = 'A value with "*" needs a label from $match, or its series could not be told apart';
    file.faults.add([...path, 'value'], message);
  }
}
