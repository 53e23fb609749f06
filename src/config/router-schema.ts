import { z } from 'zod';
import { logsSchema } from '../logs/index.ts';
import { LIFECYCLE_STATES } from '../model/index.ts';
import { connectionShape, routerAccountShape, routerTlsSchema, urlKey } from '../router/index.ts';
import type { SoundOf } from '../settings/index.ts';
import {
  byteBudget,
  choice,
  inheritable,
  LABEL_CHARS_MAX,
  labelName,
  moment,
  name,
  nameList,
  section,
  sets,
  timeZone,
} from '../settings/index.ts';
import { DEFAULT_SET, metricFilterSchema, moduleListSchema, pollSchema } from '../status/index.ts';

/**
 * Labels that the agent itself puts on series of routers or on records, whichever modules a router has. Those of modules
 * are checked against the modules of the router.
 */
const LABELS_OF_AGENT: ReadonlySet<string> = new Set(
  'component resource reason profile section certainty activity'.split(' '),
);
/** Every label is stored with every series of the router. */
const LABELS_MAX = 32;

const routerLabelName = labelName.refine((label) => !LABELS_OF_AGENT.has(label), {
  error: 'a label name that the exporter does not use itself',
});

const LABEL_VALUE = `text of at most ${LABEL_CHARS_MAX} characters (a number needs quotes)`;

const labels = z
  .record(routerLabelName, z.string({ error: LABEL_VALUE }).max(LABEL_CHARS_MAX, { error: LABEL_VALUE }), {
    error: 'a map of label names and values',
  })
  .refine((map) => Object.keys(map).length <= LABELS_MAX, { error: `at most ${LABELS_MAX} labels` })
  .meta({
    description:
      'Labels added to the series and log records of the router. An empty value removes a label of `defaults`. Labels of its modules and of log rules must have other names.',
    kind: 'map of label names to texts',
  });

const state = choice(
  {
    description:
      'State of life: `active`; `maintenance` is read as usual, and the shipped alerts leave it out; `paused` is not asked, and everything that is still there is read afterwards; `retired` is not asked and has no series. Takes precedence over a state that was set by request (`PUT /api/v1/routers/NAME/state`). Default: that state, or `active`.',
  },
  LIFECYCLE_STATES,
);

const stateUntil = moment({ description: 'End of `state`, which must be beside it. Default: none.' });

/** Schema of all keys of a router except `name` and `url`, with their defaults. */
export const routerKeysSchema = section('Keys of a router.', {
  ...connectionShape,
  timezone: timeZone({
    description:
      'Time zone of the times in the logs of the router. By default the UTC offset is determined from the router before its first line; if that fails, its records are in UTC and flagged `zone_assumed`.',
  }).optional(),
  labels: labels.optional(),
  poll: pollSchema.optional(),
  logs: logsSchema.optional(),
  modules: moduleListSchema.prefault([DEFAULT_SET]),
  metrics: metricFilterSchema.optional(),
  state: state.optional(),
  state_until: stateUntil.optional(),
  byte_budget: byteBudget({
    description:
      'Traffic of the agent with the router in a UTC day, in both directions, TLS included; 0 = no budget. As it runs out, slow modules are read less often, then all status, then logs, and then logs pause. A share is kept for status polls.',
  }).prefault(0),
});

const layerShape = {
  ...inheritable(routerKeysSchema.shape),
  credentials: name({
    description:
      'Name of an item of the section `credentials`: its account replaces `username`, the password, `auth`, the token and the headers of the layers below. Excludes these keys beside it.',
  }).optional(),
  tls_set: name({
    description:
      'Name of an item of `tls_sets`: it replaces `tls` of the layers below. Keys of `tls` beside it take precedence over its own.',
  }).optional(),
};

/** Maximum number of named sets of one kind: a group for each site of a large fleet. */
export const SETS_MAX = 1000;
/** Maximum number of groups of one router. */
const ROUTER_GROUPS_MAX = 32;

/** Schema of `defaults`. */
export const layerSchema = section(
  'Any key of a router except `name`, `url` and `groups`; what a group or router sets itself wins.',
  layerShape,
);

/** Schema of `groups`. */
export const groupsSchema = sets(
  'Groups of routers, such as sites, models and carriers: sets of keys of a router, by name. A router lists its groups in `groups`.',
  section('Any key of a router except `name`, `url` and `groups`.', layerShape),
  SETS_MAX,
);

/** Schema of `credentials`. */
export const credentialsSchema = sets(
  'Accounts on routers, by name, for `credentials` of routers, groups and `defaults`.',
  section('An account on routers.', inheritable(routerAccountShape)),
  SETS_MAX,
);

/** Schema of an item of `tls_sets`. */
export const tlsSetSchema = section('How certificates of routers are verified.', inheritable(routerTlsSchema.shape));

/** Schema of `tls_sets`. */
export const tlsSetsSchema = sets(
  'Sets of the keys of `tls` of a router, by name, for `tls_set` of routers, groups and `defaults`.',
  tlsSetSchema,
  SETS_MAX,
);

/** The valid keys of the named sets. */
export type GroupSets = SoundOf<typeof groupsSchema>;
export type CredentialSets = SoundOf<typeof credentialsSchema>;
export type TlsSets = SoundOf<typeof tlsSetsSchema>;

/** Schema of an item of `routers`. */
export const routerSchema = section('One router.', {
  name: name({ description: 'Unique name of the router: its label `router` in metrics and logs.' }),
  url: urlKey,
  groups: nameList(
    {
      description:
        'Groups of the router, by name. Of a key in several of them the last one counts; the router itself takes precedence over all, and all over `defaults`.',
    },
    ROUTER_GROUPS_MAX,
  ).optional(),
  ...layerShape,
});

/** The valid keys of `defaults`, of a group, or of a router. */
export type Layer = SoundOf<typeof layerSchema>;

/** Schema of a file that `router_files` lists. */
export const routerListSchema = z.array(routerSchema, { error: 'a list of routers' });

const { credentials, tls_set, labels: ownLabels, timezone, modules, state: ownState, state_until } = layerShape;
const { name: nameKey, groups } = routerSchema.shape;

/**
 * Schema of a router of a source. A source names neither files nor commands nor secrets, neither headers nor proxies, and weakens
 * no check of certificates: there are no keys for it.
 */
export const remoteRouterSchema = section('One router of a source.', {
  name: nameKey,
  url: urlKey,
  groups,
  credentials,
  tls_set,
  labels: ownLabels,
  timezone,
  modules,
  state: ownState,
  state_until,
});

/** Schema of a list of routers from a source. */
export const remoteListSchema = z.array(remoteRouterSchema, { error: 'a list of routers' });

/** The valid keys of a router of a source. */
export type RemoteRouter = SoundOf<typeof remoteRouterSchema>;

/** The valid keys of an item of `routers`. */
export type ListedRouter = SoundOf<typeof routerSchema>;
