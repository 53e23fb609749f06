import { z } from 'zod';
import { LIFECYCLE_STATES, type LifecycleState } from '../model/index.ts';
import { checkProxy, proxyKey } from '../net/index.ts';
import {
  checked,
  codec,
  describeHost,
  duration,
  type Filled,
  filePatterns,
  findSecretForm,
  flag,
  isWritten,
  labelName,
  NamedFileReader,
  name,
  nameList,
  type Place,
  parsed,
  parsePlainUrl,
  refuseBoth,
  refuseSecretForms,
  type Settled,
  type SoundOf,
  secret,
  secretShape,
  section,
  TEXT_CHARS_MAX,
  text,
  tlsSection,
  wholeNumber,
  withContent,
  withSecrecy,
} from '../settings/index.ts';
import { type AllowedAddress, parseAllowedAddress, renderAllowedAddress } from './allowed-addresses.ts';

/** Each source has a task and a file. */
export const SOURCES_MAX = 50;
const ADDRESSES_MAX = 1000;
const NAMES_MAX = 1000;
/** More than one process can poll. */
const ROUTERS_MAX = 50_000;
/** Further bounds on labels apply to each router. */
const LABELS_MAX = 32;
const INTERVAL_MS_MIN = 5000;
const TIMEOUT_MS_MIN = 1000;
const TIMEOUT_MS_MAX = 600_000;

const ADDRESS =
  'a network such as 10.1.0.0/16 or 2001:db8::/32, an address, or a glob of host names such as *.routers.example.com; a star stands within one part of a name, with two parts or more behind it';
const ADDRESSES = `a list of at most ${ADDRESSES_MAX} networks, addresses and globs of host names`;
const SHARE = 'a percentage from 0% to 100%';
const URL_OF_SOURCE =
  'an http or https URL without credentials and fragment, such as https://inventory.example.net/routers';

const TYPE = 'Type of the source.';

const commonShape = {
  name: name({
    description:
      'Unique name of the source, in metrics, in the log and as the name of the file of its last good answer.',
  }),
  interval: duration({ description: 'Time between two readings.' }, INTERVAL_MS_MIN).prefault('1m'),
  allowed_addresses: z
    .array(
      parsed<AllowedAddress>({ description: '' }, ADDRESS, parseAllowedAddress, renderAllowedAddress, describeHost),
      {
        error: ADDRESSES,
      },
    )
    .max(ADDRESSES_MAX, { error: ADDRESSES })
    .meta({
      description:
        'Where its routers may be, because that is where their passwords go: networks, for addresses in URLs, and globs of host names, for names in URLs. A star stands for characters within one part of a name, with two parts or more behind it.',
      kind: 'list of networks and globs',
    })
    .prefault([]),
  allow_http: flag({
    description: 'Whether URLs of its routers may begin with http://, which sends passwords unencrypted.',
  }).prefault(false),
  groups: nameList(
    { description: 'Groups of all of its routers, below those that a router names itself.' },
    NAMES_MAX,
  ).prefault([]),
  allowed_groups: nameList({ description: 'Groups that its routers may name.', advanced: true }, NAMES_MAX).prefault(
    [],
  ),
  allowed_credentials: nameList(
    { description: 'Credentials that its routers may name.', advanced: true },
    NAMES_MAX,
  ).prefault([]),
  allowed_tls_sets: nameList(
    { description: 'TLS sets that its routers may name.', advanced: true },
    NAMES_MAX,
  ).prefault([]),
  // With 1 GiB of memory, an agent survives a list of this many routers that do not answer.
  routers_max: wholeNumber(
    {
      description:
        'Routers that a list may have. One that has more, or takes the memory of more, is not used. It also bounds the memory for reading the list, so raise it only as far as the fleet needs.',
    },
    1,
    ROUTERS_MAX,
  ).prefault(5000),
  removal_max: codec(
    z.string({ error: SHARE }).meta({
      description:
        'Share of its routers that one answer, or all answers of a day together, may remove. An answer that removes more (and more than one router), or all of them, is not used until it is confirmed: a larger `removal_max` and a reload, or `POST /-/reload?accept_removals=NAME`.',
      kind: 'percentage',
      advanced: true,
    }),
    SHARE,
    (value) => {
      const percent = /^(\d{1,3})\s*%$/.exec(value)?.[1];
      return percent === undefined || Number(percent) > 100 ? undefined : Number(percent) / 100;
    },
    (share) => `${Math.round(share * 100)}%`,
    // A fifth: more than a fleet changes between two readings, less than a broken list lacks.
  ).prefault('20%'),
};

const requestShape = {
  proxy: proxyKey(),
  timeout: duration(
    { description: 'Time limit of one request. All pages of a NetBox together may take ten times as long.' },
    TIMEOUT_MS_MIN,
    TIMEOUT_MS_MAX,
  ).prefault('30s'),
  tls: tlsSection({
    section: 'TLS settings of the connection to the source.',
    caFile: 'PEM file with the trusted CA certificates. Default: those of the system and of Node.js.',
    serverName: 'Host name that the certificate must carry. Default: the host of the URL.',
    certFile: 'PEM file with the client certificate of the agent. Requires `key_file`.',
    fingerprint: 'Not supported here; use `ca_file` with the certificate of the server.',
    insecure: 'Accepts any certificate. An attacker in between can then name any router in `allowed_addresses`.',
  }).optional(),
};

const url = withSecrecy(
  'possible',
  parsed(
    { description: 'URL of the list, http or https. Redirects are not followed.', kind: 'URL' },
    URL_OF_SOURCE,
    (value) => (value.length <= TEXT_CHARS_MAX && isSourceUrl(value) ? value : undefined),
    // Its path and query may hold a token.
    (value) => URL.parse(value)?.origin ?? '',
    describeHost,
  ),
);

function isSourceUrl(value: string): boolean {
  const [address = ''] = value.split('?');
  return parsePlainUrl(address) !== undefined && /^[^\s\\#@]+$/.test(value);
}

const fieldPath = checked(
  { description: '' },
  'a path of fields such as site.slug or custom_fields.asset',
  256,
  (value) => /^[A-Za-z0-9_]+(\.[A-Za-z0-9_]+){0,3}$/.test(value),
);

const STATUS = 'a status of NetBox in small letters, such as planned';
const STATE = LIFECYCLE_STATES.map((state) => `"${state}"`).join(' or ');
const STATES = 'a map of statuses of NetBox to states of routers';
const STATES_MAX = 32;
/**
 * Default states for the statuses of NetBox. `active` has none, because a state from a source takes precedence over one
 * that was set by request.
 */
const DEVICE_STATES: Readonly<Record<string, LifecycleState>> = {
  offline: 'paused',
  planned: 'paused',
  staged: 'maintenance',
  failed: 'maintenance',
  inventory: 'retired',
  decommissioning: 'retired',
};

const httpSchema = section(
  'A list of routers over HTTP: in the format of the HTTP service discovery of Prometheus, or a list of maps with the keys of a router.',
  {
    type: z.literal('http').meta({ description: TYPE }),
    ...commonShape,
    url,
    ...requestShape,
    username: text({ description: 'Account, with a password.' }).optional(),
    ...secretShape('password', secret('Password of the account.')),
    ...secretShape('bearer_token', secret('Bearer token, instead of an account.', 'the token')),
  },
);

const fileSchema = section(
  'Files in the format of the file-based service discovery of Prometheus, or lists of routers, as YAML or JSON. They are trusted as little as other sources; for trusted files there is `router_files`.',
  {
    type: z.literal('file_sd').meta({ description: TYPE }),
    ...commonShape,
    files: withContent('path', filePatterns({ description: 'Files to read.' })),
  },
);

const netboxSchema = section('The devices of a NetBox, through its REST interface (versions 3 and 4).', {
  type: z.literal('netbox').meta({ description: TYPE }),
  ...commonShape,
  url: url.meta({ description: 'Address of NetBox, without `/api`.', kind: 'URL' }),
  ...requestShape,
  ...secretShape(
    'token',
    secret('API token, with its beginning `nbt_` if it has one (NetBox 4.5 and later).', 'the token'),
  ),
  query: checked(
    { description: 'Filter of the list of devices, as in `status=active&role=router`.', kind: 'query' },
    'a query of names and values, such as status=active&role=router',
    TEXT_CHARS_MAX,
    (value) => /^[A-Za-z0-9_]+=[^\s#&]*(&[A-Za-z0-9_]+=[^\s#&]*)*$/.test(value),
  ).optional(),
  // Some hundred kilobytes a page.
  page_size: wholeNumber({ description: 'Devices of one request.' }, 1, 1000).prefault(250),
  scheme: z
    .enum(['https', 'http'], { error: '"https" or "http"' })
    .meta({ description: 'Scheme of the URLs of its routers.' })
    .prefault('https'),
  port: wholeNumber(
    { description: 'Port of the URLs of its routers. Default: that of the scheme.' },
    1,
    65_535,
  ).optional(),
  labels: z
    .record(labelName, fieldPath, { error: 'a map of label names to paths of fields' })
    .refine((map) => Object.keys(map).length <= LABELS_MAX, { error: `at most ${LABELS_MAX} labels` })
    .meta({
      description: 'Labels of its routers from fields of the device, such as `{ site: site.slug }`.',
      kind: 'map of labels to fields',
    })
    .optional(),
  states: z
    .record(z.string().regex(/^[a-z0-9_-]{1,64}$/, { error: STATUS }), z.enum(LIFECYCLE_STATES, { error: STATE }), {
      error: STATES,
    })
    .refine((map) => Object.keys(map).length <= STATES_MAX, { error: `at most ${STATES_MAX} statuses` })
    .meta({
      description:
        'State of a router by the `status` of its device. A status that is not listed names no state. Replaces the default.',
      kind: 'map of statuses to states',
    })
    .prefault(DEVICE_STATES),
  group_fields: z
    .array(fieldPath, { error: 'a list of at most 16 paths of fields' })
    .max(16, { error: 'a list of at most 16 paths of fields' })
    .meta({
      description:
        'Fields whose values are groups, such as `site.slug` or `tags`. Values that are not in `allowed_groups` are left out.',
      kind: 'list of fields',
    })
    .optional(),
});

const SCHEMAS = [httpSchema, fileSchema, netboxSchema] as const;

/** Schema of `router_sources`. */
export const sourcesSchema = z
  .array(z.discriminatedUnion('type', SCHEMAS, { error: 'a map of keys' }), {
    error: 'a list of sources',
  })
  .max(SOURCES_MAX, { error: `a list of at most ${SOURCES_MAX} sources` })
  .meta({ description: 'Lists of routers from elsewhere, which are not trusted.' });

type WrittenSource = SoundOf<typeof sourcesSchema>[number];

/** One source of routers: its keys with defaults, secrets and the content of files. */
export type SourceSettings = Settled<Filled<z.output<typeof sourcesSchema>[number]>>;
export type RequestSettings = Exclude<SourceSettings, { type: 'file_sd' }>;
export type NetboxSettings = Extract<SourceSettings, { type: 'netbox' }>;

/**
 * Reads the files that the sources refer to. An incomplete source has a fault and is left out; one that allows no
 * address has a warning.
 */
export async function readSources(
  file: Place['file'],
  written: readonly WrittenSource[],
): Promise<readonly SourceSettings[]> {
  const reader = new NamedFileReader();
  const sources: SourceSettings[] = [];
  for (const [index, keys] of written.entries()) {
    const place = { file, path: ['router_sources', index] };
    const schema = SCHEMAS.find(({ shape }) => shape.type.value === keys.type);
    if (!schema || keys.type === undefined || keys.name === undefined) continue;
    if (keys.allowed_addresses?.length === 0) {
      const message =
        'No router of this source is used, because "allowed_addresses" allows none; list the networks or host names of its routers';
      file.faults.warn(place.path, message);
    }
    if (keys.type !== 'file_sd') checkRequest(place, keys);
    const settings = await reader.readSection(place, schema, keys);
    if (!file.faults.touches(place.path)) sources.push(settings as SourceSettings);
  }
  return sources;
}

function checkRequest(place: Place, { tls, proxy }: Extract<WrittenSource, { type: 'http' | 'netbox' }>): void {
  checkAccount(place);
  checkProxy(place, proxy);
  if (tls?.fingerprint_sha256 === undefined) return;
  const message = 'Sources have no "fingerprint_sha256"; write "ca_file" with the certificate of the server';
  place.file.faults.add([...place.path, 'tls', 'fingerprint_sha256'], message, { aim: 'key' });
}

function checkAccount(place: Place): void {
  for (const key of ['password', 'bearer_token', 'token']) refuseSecretForms(place, key);
  const bearer = findSecretForm(place, 'bearer_token');
  const password = findSecretForm(place, 'password');
  if (bearer !== undefined) refuseBoth(place, 'username', bearer);
  const { file, path } = place;
  if (isWritten(place, 'username') && password === undefined) {
    file.faults.add([...path, 'username'], '"username" requires "password" or "password_file"', { aim: 'key' });
  }
  if (password !== undefined && !isWritten(place, 'username')) {
    file.faults.add([...path, password], `"${password}" requires "username"`, { aim: 'key' });
  }
}
