import { z } from 'zod';
import { connectionShape, routerAccountShape, routerTlsSchema, urlKey } from '../client/index.ts';
import { logsSchema } from '../logs/index.ts';
import { LIFECYCLE_STATES } from '../model/index.ts';
import {
  byteBudget,
  byteSizeWithin,
  checked,
  choice,
  inheritable,
  LABEL_CHARS_MAX,
  labelName,
  moment,
  name,
  nameList,
  type SoundOf,
  secretShape,
  section,
  sets,
  timeZone,
  token,
  wholeNumber,
} from '../settings/index.ts';
import { DEFAULT_SET, expectSchema, metricFilterSchema, moduleListSchema, pollSchema } from '../status/index.ts';

/** Set by the agent on series or records. Labels of modules are checked per router. */
const LABELS_OF_AGENT: ReadonlySet<string> = new Set(
  'component resource reason profile section certainty activity'.split(' '),
);
/** Each is stored with every series of the router. */
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
      'Lifecycle state: `active`; `maintenance` is polled as usual, but left out of the shipped alerts; `paused` is not polled, and logs that the router still has are read afterwards; `retired` is not polled and has no series. Takes precedence over a state that was set by request (`PUT /api/v1/routers/NAME/state`). Default: that state, or `active`.',
  },
  LIFECYCLE_STATES,
);

const stateUntil = moment({ description: 'End of `state`, which is required with it. Default: none.' });

const PLANS_MAX = 8;
const PLANS = `a list of at most ${PLANS_MAX} data plans, each with another "sim"`;
const MEBIBYTE = 1024 ** 2;

const dataPlan = section('The data plan of a SIM card.', {
  sim: checked(
    {
      description:
        'SIM card as in the label `used_sim` of `router_modem_used_sim`; of a text with a number, such as `SIM 1`, the number suffices. The plan `unknown` counts what no other plan of the router does: cards without a plan, and those that the router does not name.',
    },
    'the name of a SIM card (a number needs quotes)',
    64,
    (value) => value.trim() !== '',
  ).prefault('unknown'),
  limit: byteSizeWithin(
    { description: 'Volume of a billing period, in both directions.' },
    MEBIBYTE,
    MEBIBYTE ** 2,
    '5GiB',
  ),
  billing_day: wholeNumber(
    {
      description:
        'Day of the month on which the billing period begins, in `timezone` of the router, else in the zone of the agent. In a shorter month, 29 to 31 are its last day.',
    },
    1,
    31,
  ).prefault(1),
});

const dataPlans = z
  .array(dataPlan, { error: PLANS })
  .max(PLANS_MAX, { error: PLANS })
  .refine((plans) => new Set(plans.map(({ sim }) => /\d+/.exec(sim)?.[0] ?? sim)).size === plans.length, {
    error: PLANS,
  })
  .meta({
    description:
      'Data plans of its SIM cards: the traffic of the cellular interfaces is summed in each billing period, and compared with the limit. Plans of a router replace those of its groups, and these those of `defaults`.',
    kind: 'list of data plans',
  });

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
  expect: expectSchema.optional(),
  state: state.optional(),
  state_until: stateUntil.optional(),
  ...secretShape(
    'notify_token',
    token(
      'Token with which the router requests a poll (`POST /api/v1/routers/NAME/notify`), of at least 32 random characters. Default: none, and it cannot.',
    ),
    { advanced: true },
  ),
  byte_budget: byteBudget({
    description:
      'Traffic of the agent with the router in a UTC day, in both directions, TLS included; 0 = no budget. If it is used faster than the day goes by, slow modules are read less often, then all status, then logs, and then logs pause. A share is kept for status polls.',
  }).prefault(0),
  data_plans: dataPlans.prefault([]),
});

const layerShape = {
  ...inheritable(routerKeysSchema.shape),
  credentials: name({
    description:
      'Name of an item of the section `credentials`: its account replaces `username`, the password, `auth`, the token and the headers of the layers below. These keys must not be set together with it.',
  }).optional(),
  tls_set: name({
    description:
      'Name of an item of `tls_sets`: it replaces `tls` of the layers below. Keys of `tls` set together with it take precedence over its own.',
  }).optional(),
};

export const SETS_MAX = 1000;
const ROUTER_GROUPS_MAX = 32;

export const layerSchema = section(
  'Any key of a router except `name`, `url` and `groups`; keys of a group or of the router itself take precedence.',
  layerShape,
);

export const groupsSchema = sets(
  'Groups of routers, such as sites, models and carriers: sets of keys of a router, by name. A router lists its groups in `groups`.',
  section('Any key of a router except `name`, `url` and `groups`.', layerShape),
  SETS_MAX,
);

export const credentialsSchema = sets(
  'Accounts on routers, by name, for `credentials` of routers, groups and `defaults`.',
  section('An account on routers.', inheritable(routerAccountShape)),
  SETS_MAX,
);

export const tlsSetSchema = section('How certificates of routers are verified.', inheritable(routerTlsSchema.shape));

export const tlsSetsSchema = sets(
  'Sets of the keys of `tls` of a router, by name, for `tls_set` of routers, groups and `defaults`.',
  tlsSetSchema,
  SETS_MAX,
);

export const routerSchema = section('One router.', {
  name: name({ description: 'Unique name of the router: its label `router` in metrics and logs.' }),
  url: urlKey,
  groups: nameList(
    {
      description:
        'Groups of the router, by name. If several of them set a key, the last one counts; the router itself takes precedence over all, and all over `defaults`.',
    },
    ROUTER_GROUPS_MAX,
  ).optional(),
  ...layerShape,
});

export type Layer = SoundOf<typeof layerSchema>;

export const routerListSchema = z.array(routerSchema, { error: 'a list of routers' });

const { credentials, tls_set, labels: ownLabels, timezone, modules, state: ownState, state_until } = layerShape;
const { name: nameKey, groups } = routerSchema.shape;

/** Sources are less trusted: no keys for files, commands, secrets, headers or proxies, and none that weaken TLS. */
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

export const remoteListSchema = z.array(remoteRouterSchema, { error: 'a list of routers' });

export type RemoteRouter = SoundOf<typeof remoteRouterSchema>;

export type ListedRouter = SoundOf<typeof routerSchema>;

/** Returns the faults of a router that is not in a file yet. Omits checks that need other files. */
export function findRouterFaults(router: unknown): string[] {
  const { error } = z.safeParse(routerSchema, router);
  return (error?.issues ?? []).map((issue) => {
    const found: unknown = issue.code === 'custom' ? issue.params?.['found'] : undefined;
    const end = typeof found === 'string' ? `; found ${found}` : '';
    return `${issue.path.join('.')}: Expected ${issue.message}${end}`;
  });
}
