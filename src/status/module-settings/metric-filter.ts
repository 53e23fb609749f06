import { z } from 'zod';
import { matchesStars } from '../../base/index.ts';
import {
  codec,
  findNearest,
  LABEL_CHARS_MAX,
  METRIC_LABELS_MAX,
  type Place,
  type Settled,
  type SoundOf,
  section,
} from '../../settings/index.ts';
import type { MetricDefinition, ModuleDefinition, SampleSelection } from './module-schema.ts';

/** More would be a list of all metrics. */
const SELECTORS_MAX = 200;
/** Twice the longest metric name. */
const GLOB_CHARS_MAX = 256;
const GLOB = 'a glob of names of metrics, such as router_modem_*';
const VALUE = `a glob of at most ${LABEL_CHARS_MAX} characters (a number needs quotes)`;
const LABELS = `a map of 1 to ${METRIC_LABELS_MAX} label names to globs`;
const ITEM = `${GLOB}, or a map with "name" and "labels"`;
const LIST = `a list of at most ${SELECTORS_MAX} globs of names, or maps with "name" and "labels"`;

interface MetricSelector {
  readonly name: string;
  /** All of them must match. Empty: any series of the metric. */
  readonly labels: SampleSelection['deny'][number];
}

const nameGlob = z
  .string({ error: ITEM })
  .regex(/^[a-zA-Z0-9_*?]+$/, { error: ITEM })
  .max(GLOB_CHARS_MAX, { error: GLOB });

const selectorMap = section('Metrics by name and labels.', {
  name: nameGlob.meta({ description: 'Glob of names of metrics.', kind: 'glob' }),
  labels: z
    .record(z.string(), z.string({ error: VALUE }).max(LABEL_CHARS_MAX, { error: VALUE }), { error: LABELS })
    .refine((map) => Object.keys(map).length > 0 && Object.keys(map).length <= METRIC_LABELS_MAX, { error: LABELS })
    .meta({
      description: 'Globs of the values of labels; all must match. A label that a series does not have is empty.',
      kind: 'map of label names to globs',
    }),
});

const selector = codec(
  z.union([nameGlob, selectorMap], { error: ITEM }),
  ITEM,
  (written): MetricSelector => (typeof written === 'string' ? { name: written, labels: {} } : written),
  ({ name, labels }) => (Object.keys(labels).length === 0 ? name : { name, labels: { ...labels } }),
);

function selectors(description: string) {
  return z
    .array(selector, { error: LIST })
    .max(SELECTORS_MAX, { error: LIST })
    .meta({ description, kind: 'list of globs and maps' })
    .optional();
}

/** Schema of the section `metrics` of a router. */
export const metricFilterSchema = section(
  'Which metrics of its modules a router has: `*` in a glob stands for any text, `?` for one character.',
  {
    allow: selectors(
      'Only these metrics: globs of names, or maps such as `{ name: router_interface_*, labels: { interface: "wan*" } }`. Default: all.',
    ),
    deny: selectors(
      'Not these metrics, also when they are in `allow`. Resources that are then not needed are not read.',
    ),
  },
);

/** The metrics that a router has. */
export type MetricFilter = Settled<SoundOf<typeof metricFilterSchema>>;

/** Rejects globs that match no metric of any module. */
export function checkMetricFilter(
  filter: MetricFilter,
  families: readonly { readonly name: string }[],
  place: Place,
): void {
  for (const key of ['allow', 'deny'] as const) {
    for (const [index, { name }] of (filter[key] ?? []).entries()) {
      if (place.file.faults.touches([...place.path, key, index])) continue;
      if (families.some((family) => matchesStars(family.name, name))) continue;
      const nearest = findNearest(
        name,
        families.map((family) => family.name),
      );
      const message = `No module has a metric "${name}"; metrics of the agent itself and of log rules cannot be chosen here`;
      place.file.faults.add([...place.path, key, index], message, { nearest });
    }
  }
}

/** Returns the modules without filtered metrics and unneeded resources. Resources of identity modules stay. */
export function filterModules(modules: readonly ModuleDefinition[], filter: MetricFilter): readonly ModuleDefinition[] {
  return modules.map((module) => {
    const resources = module.resources.flatMap((resource) => {
      const metrics = resource.metrics.flatMap((metric) => {
        const selection = selectSamples(metric, filter);
        if (selection === undefined) return [metric];
        const isNone = selection.allow?.length === 0;
        return isNone && !module.isIdentity ? [] : [{ ...metric, selection }];
      });
      return metrics.length === 0 && resource.metrics.length > 0 ? [] : [{ ...resource, metrics }];
    });
    return { ...module, resources, unfiltered: module };
  });
}

/** `undefined`: all series; an empty `allow`: none. */
function selectSamples({ name }: MetricDefinition, filter: MetricFilter): SampleSelection | undefined {
  const listGlobs = (selected: readonly MetricSelector[] | undefined) =>
    selected?.filter((one) => isComplete(one) && matchesStars(name, one.name)).map(({ labels }) => labels);
  const isAny = (globs: object) => Object.keys(globs).length === 0;
  const [allow, deny = []] = [listGlobs(filter.allow), listGlobs(filter.deny)];
  if (deny.some(isAny)) return { allow: [], deny: [] };
  const isAllowed = allow === undefined || allow.some(isAny);
  return isAllowed && deny.length === 0 ? undefined : { allow: isAllowed ? undefined : allow, deny };
}

/** False for the rest of an item with a fault. */
function isComplete(written: object): boolean {
  return Object.hasOwn(written, 'name') && Object.hasOwn(written, 'labels');
}
