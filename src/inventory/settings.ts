import { resolve } from 'node:path';
import { z } from 'zod';
import type { Secret } from '../base/index.ts';
import { LIFECYCLE_STATES, type LifecycleState } from '../model/index.ts';
import {
  checked,
  codec,
  describeHost,
  duration,
  filePatterns,
  findSecretForm,
  flag,
  isWritten,
  labelName,
  NamedFileReader,
  name,
  nameList,
  orDefaults,
  type Place,
  parsed,
  parsePlainUrl,
  readTls,
  refuseBoth,
  refuseSecretForms,
  renderTls,
  type SoundOf,
  secret,
  secretShape,
  section,
  TEXT_CHARS_MAX,
  type TlsSettings,
  text,
  tlsSection,
  wholeNumber,
  withSecrecy,
} from '../settings/index.ts';
import { type AllowedAddress, parseAllowedAddress, renderAllowedAddress } from './allowed-addresses.ts';

/** Each is a task and a file. */
export const SOURCES_MAX = 50;
/** A list of networks that a person keeps. */
const ADDRESSES_MAX = 1000;
/** Names that a source may use, of one kind. */
const NAMES_MAX = 1000;
/** More than one process can ask. */
const ROUTERS_MAX = 50_000;
/** Labels of a router are bounded further. */
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

/** Keys of all sources that have a default. */
const commonSchema = section('Any source.', {
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
    description: 'Whether URLs of its routers may begin with http://, which shows passwords to everybody on the way.',
  }).prefault(false),
  groups: nameList(
    { description: 'Groups of all of its routers, below those that a router names itself.' },
    NAMES_MAX,
  ).prefault([]),
  allowed_groups: nameList({ description: 'Groups that its routers may name.' }, NAMES_MAX).prefault([]),
  allowed_credentials: nameList({ description: 'Credentials that its routers may name.' }, NAMES_MAX).prefault([]),
  allowed_tls_sets: nameList({ description: 'TLS sets that its routers may name.' }, NAMES_MAX).prefault([]),
  // An agent with 1 GiB survives a list of so many that do not answer.
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
    }),
    SHARE,
    (value) => {
      const percent = /^(\d{1,3})\s*%$/.exec(value)?.[1];
      return percent === undefined || Number(percent) > 100 ? undefined : Number(percent) / 100;
    },
    (share) => `${Math.round(share * 100)}%`,
    // A fifth: more than a fleet changes between two readings, less than what a broken list lacks.
  ).prefault('20%'),
});

const commonShape = {
  name: name({
    description:
      'Unique name of the source, in metrics, in the log and as the name of the file of its last good answer.',
  }),
  ...commonSchema.shape,
};

const requestShape = {
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
    String,
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
/** NetBox has seven statuses; an operator may add others. */
const STATES_MAX = 32;
/**
 * States for the statuses of NetBox. `active` names no state, because a state that is named takes precedence over one that was
 * set by request.
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
    ...secretShape('bearer_token', secret('Bearer token, instead of an account.')),
  },
);

const fileSchema = section(
  'Files in the format of the file-based service discovery of Prometheus, or lists of routers, as YAML or JSON. They are trusted as little as other sources; for trusted files there is `router_files`.',
  {
    type: z.literal('file_sd').meta({ description: TYPE }),
    ...commonShape,
    files: filePatterns({ description: 'Files to read.' }),
  },
);

const netboxSchema = section('The devices of a NetBox, through its REST interface (versions 3 and 4).', {
  type: z.literal('netbox').meta({ description: TYPE }),
  ...commonShape,
  url: url.meta({ description: 'Address of NetBox, without `/api`.', kind: 'URL' }),
  ...requestShape,
  ...secretShape('token', secret('API token, with its beginning `nbt_` if it has one (NetBox 4.5 and later).')),
  query: checked(
    { description: 'Filter of the list of devices, as in `status=active&role=router`.', kind: 'query' },
    'a query of names and values, such as status=active&role=router',
    TEXT_CHARS_MAX,
    (value) => /^[A-Za-z0-9_]+=[^\s#&]*(&[A-Za-z0-9_]+=[^\s#&]*)*$/.test(value),
  ).optional(),
  // Some hundred kilobytes.
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
      description: `State of a router by the \`status\` of its device. A status that is not listed names no state. Replaces the default. Default: \`{ ${Object.entries(
        DEVICE_STATES,
      )
        .map(([status, state]) => `${status}: ${state}`)
        .join(', ')} }\`.`,
      kind: 'map of statuses to states',
    })
    .optional(),
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

/** Schema of `router_sources`. */
export const sourcesSchema = z
  .array(z.discriminatedUnion('type', [httpSchema, fileSchema, netboxSchema], { error: 'a map of keys' }), {
    error: 'a list of sources',
  })
  .max(SOURCES_MAX, { error: `a list of at most ${SOURCES_MAX} sources` })
  .meta({ description: 'Lists of routers from elsewhere, which are not trusted.' });

type WrittenSource = SoundOf<typeof sourcesSchema>[number];

/** Credentials of the requests to a source, as the header that they become. */
export type SourceAuth =
  | { readonly kind: 'basic'; readonly username: string; readonly password: Secret }
  | { readonly kind: 'bearer' | 'token'; readonly token: Secret };

/** Server of a source. */
export interface RequestSettings {
  /** URL of the list; of a NetBox, its address. */
  readonly url: string;
  /** Time limit of one request. Milliseconds. */
  readonly timeoutMs: number;
  /** Credentials; `undefined`: none. */
  readonly auth: SourceAuth | undefined;
  /** Verification of the certificate of the server, and the client certificate. */
  readonly tls: TlsSettings;
}

/** The list of devices of a NetBox, and how they become routers. */
export interface NetboxSettings {
  /** Filter of the list of devices, without `?`; may be empty. */
  readonly query: string;
  /** Number of devices of one request. */
  readonly pageSize: number;
  /** Scheme of the URLs of its routers. */
  readonly scheme: 'https' | 'http';
  /** Port of the URLs of its routers; `undefined`: that of the scheme. */
  readonly port: number | undefined;
  /** Paths of fields by the label that they become. */
  readonly labels: Readonly<Record<string, string>>;
  /** Paths of fields whose values are groups. */
  readonly groupFields: readonly string[];
  /** States of routers by the status of the device. */
  readonly states: Readonly<Record<string, LifecycleState>>;
}

/** One source of routers. Times are milliseconds, paths absolute. */
export interface SourceSettings {
  /** Unique name. */
  readonly name: string;
  /** Kind of server, or files. */
  readonly type: 'http' | 'file_sd' | 'netbox';
  /** Time between two readings. */
  readonly intervalMs: number;
  /** Names that its routers may refer to. */
  readonly allowed: {
    readonly addresses: readonly AllowedAddress[];
    readonly allowsHttp: boolean;
    readonly groups: readonly string[];
    readonly credentials: readonly string[];
    readonly tlsSets: readonly string[];
  };
  /** Groups of all of its routers. */
  readonly groups: readonly string[];
  /** Routers that an answer may have. */
  readonly routersMax: number;
  /** Share of its routers that one answer may remove, from 0 to 1. */
  readonly removalMax: number;
  /** Absent for files. */
  readonly request?: RequestSettings | undefined;
  /** Absolute paths and globs; only for `file_sd`. */
  readonly files?: readonly string[] | undefined;
  /** Only for `netbox`. */
  readonly netbox?: NetboxSettings | undefined;
}

/** Reads the files that the sources refer to, and applies the defaults. An incomplete source has its fault and is left out; one that allows no address has a warning. */
export async function readSources(
  file: Place['file'],
  written: readonly WrittenSource[],
): Promise<readonly SourceSettings[]> {
  const reader = new NamedFileReader();
  const sources: SourceSettings[] = [];
  for (const [index, keys] of written.entries()) {
    const source = await readSource({ file, path: ['router_sources', index] }, keys, reader);
    if (source) sources.push(source);
  }
  return sources;
}

async function readSource(
  place: Place,
  keys: WrittenSource,
  reader: NamedFileReader,
): Promise<SourceSettings | undefined> {
  if (keys.type === undefined || keys.name === undefined) return undefined;
  const common = toCommon(keys.name, keys);
  if (common.allowed.addresses.length === 0) {
    const message =
      'No router of this source is used, because "allowed_addresses" allows none; list the networks or host names of its routers';
    place.file.faults.warn(place.path, message);
  }
  if (keys.type === 'file_sd') {
    const { files } = keys;
    return files && { ...common, type: keys.type, files: files.map((one) => resolve(place.file.folder, one)) };
  }
  checkAccount(place);
  const tls = await readTls({ ...place, path: [...place.path, 'tls'] }, keys.tls, reader);
  if (tls.fingerprintSha256 !== undefined) {
    const message = 'Sources have no "fingerprint_sha256"; write "ca_file" with the certificate of the server';
    place.file.faults.add([...place.path, 'tls', 'fingerprint_sha256'], message, { aim: 'key' });
  }
  const auth = keys.type === 'http' ? await readHttpAuth(place, keys, reader) : await readToken(place, keys, reader);
  const { url: address, timeout: timeoutMs } = keys;
  if (address === undefined || timeoutMs === undefined) return undefined;
  const request: RequestSettings = { url: address, timeoutMs, auth, tls };
  if (keys.type === 'http') return { ...common, type: keys.type, request };
  const { query = '', page_size: pageSize, scheme, port, labels = {}, states = DEVICE_STATES } = keys;
  const { group_fields: groupFields = [] } = keys;
  if (pageSize === undefined || scheme === undefined) return undefined;
  const netbox = { query, pageSize, scheme, port, labels, groupFields, states };
  return { ...common, type: keys.type, request, netbox };
}

function toCommon(sourceName: string, keys: SoundOf<typeof commonSchema>) {
  const all = orDefaults(commonSchema, keys);
  return {
    name: sourceName,
    intervalMs: all.interval,
    allowed: {
      addresses: all.allowed_addresses,
      allowsHttp: all.allow_http,
      groups: all.allowed_groups,
      credentials: all.allowed_credentials,
      tlsSets: all.allowed_tls_sets,
    },
    groups: all.groups,
    routersMax: all.routers_max,
    removalMax: all.removal_max,
  };
}

function checkAccount(place: Place): void {
  for (const secret of ['password', 'bearer_token', 'token']) refuseSecretForms(place, secret);
  const bearer = findSecretForm(place, 'bearer_token');
  const password = findSecretForm(place, 'password');
  if (bearer !== undefined) refuseBoth(place, 'username', bearer);
  const { file, path } = place;
  if (isWritten(place, 'username') && password === undefined) {
    file.faults.add([...path, 'username'], '"username" needs "password" or "password_file" beside it', { aim: 'key' });
  }
  if (password !== undefined && !isWritten(place, 'username')) {
    file.faults.add([...path, password], `"${password}" needs "username" beside it`, { aim: 'key' });
  }
}

async function readHttpAuth(
  place: Place,
  keys: WrittenSource & { type: 'http' },
  reader: NamedFileReader,
): Promise<SourceAuth | undefined> {
  const password = await reader.readSecret(place, 'password', keys);
  const token = await reader.readSecret(place, 'bearer_token', keys, { expected: 'the token' });
  if (keys.username !== undefined && password) return { kind: 'basic', username: keys.username, password };
  return token && { kind: 'bearer', token };
}

async function readToken(
  place: Place,
  keys: WrittenSource & { type: 'netbox' },
  reader: NamedFileReader,
): Promise<SourceAuth | undefined> {
  const token = await reader.readSecret(place, 'token', keys, { expected: 'the token' });
  return token && { kind: 'token', token };
}

/** Renders settings for the page of the running configuration, without secrets. */
export function renderSource(source: SourceSettings): object {
  const { allowed, request, netbox, auth } = { ...source, auth: source.request?.auth };
  return {
    name: source.name,
    type: source.type,
    // Its path and query may hold a token.
    url: request && URL.parse(request.url)?.origin,
    files: source.files,
    interval: `${source.intervalMs / 1000}s`,
    timeout: request && `${request.timeoutMs / 1000}s`,
    username: auth?.kind === 'basic' ? auth.username : undefined,
    password: auth?.kind === 'basic' ? auth.password : undefined,
    bearer_token: auth?.kind === 'bearer' ? auth.token : undefined,
    token: auth?.kind === 'token' ? auth.token : undefined,
    tls: request?.url.startsWith('https:') ? renderTls(request.tls) : undefined,
    query: netbox?.query,
    page_size: netbox?.pageSize,
    scheme: netbox?.scheme,
    port: netbox?.port,
    labels: netbox?.labels,
    group_fields: netbox?.groupFields,
    states: netbox?.states,
    routers_max: source.routersMax,
    removal_max: `${Math.round(source.removalMax * 100)}%`,
    allowed_addresses: allowed.addresses.map(renderAllowedAddress),
    allow_http: allowed.allowsHttp,
    groups: source.groups,
    allowed_groups: allowed.groups,
    allowed_credentials: allowed.credentials,
    allowed_tls_sets: allowed.tlsSets,
  };
}
