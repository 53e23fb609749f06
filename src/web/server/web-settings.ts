import { z } from 'zod';
import { Secret } from '../../base/index.ts';
import {
  absolutePath,
  type ConfigFile,
  type ConfigFiles,
  choice,
  describeHost,
  type Filled,
  findNearest,
  findSecretForm,
  flag,
  type ListenAddress,
  listenAddress,
  NamedFileReader,
  name,
  parsed,
  parseRouterUrl,
  refuseSecretForms,
  routerUrl,
  type Settled,
  type SoundOf,
  secretOf,
  secretShape,
  section,
  webUrl,
} from '../../settings/index.ts';
import { type AccessRules, ROLES } from './access.ts';
import { parseNetwork, renderNetwork } from './client-address.ts';
import type { WebSecurity } from './security.ts';
import type { WebPolicy } from './server.ts';
import { readWebSecurity } from './web-file.ts';

const TOKENS_MAX = 100;
const TOKENS = `a list of at most ${TOKENS_MAX} tokens with name, role and token`;
const USERS_MAX = 100;
const USERS = `a map of at most ${USERS_MAX} users to roles`;
const TOKEN = 'a token of 8 to 4096 printable ASCII characters without blanks, as "openssl rand -hex 32" writes one';
const TOKEN_PATTERN = /^[\x21-\x7e]{8,4096}$/;

function role(description: string) {
  return choice({ description }, ROLES);
}

const ROLE =
  '`metrics`: metrics, probes and service discovery. `read`: also pages and JSON, which contain log lines. `admin`: also `/-/reload`, `/-/quit`, `/-/poll`, `/-/maintenance` and `PUT /api/v1/routers/NAME/state`.';

const tokenSchema = section('A bearer token.', {
  name: name({ description: 'Name of the token, for people. Unique.' }),
  role: role(ROLE),
  ...secretShape(
    'token',
    secretOf(
      'The token.',
      { expected: TOKEN, isValid: (text) => TOKEN_PATTERN.test(text) },
      z.string().regex(TOKEN_PATTERN).meta({ description: 'The token itself.' }),
    ),
  ),
});

const accessSchema = section(
  'Roles, and bearer tokens in addition to the users of `config_file`. Without users and tokens, access is open.',
  {
    open_health: flag({
      description: '`/-/healthy` and `/-/ready` need no credentials, for probes of orchestrators.',
      default: false,
    }).optional(),
    users: z
      .record(z.string(), role(ROLE), { error: USERS })
      .refine((users) => Object.keys(users).length <= USERS_MAX, { error: USERS })
      .meta({
        description: 'Roles of users of `config_file`. A user who is not named here is `admin`, as in other exporters.',
        kind: 'map of users to roles',
      })
      .optional(),
    tokens: z
      .array(tokenSchema, { error: TOKENS })
      .max(TOKENS_MAX, { error: TOKENS })
      .meta({ description: 'Bearer tokens.' })
      .optional(),
  },
);

type AccessSettings = Settled<Filled<z.output<typeof accessSchema>>>;

/** Rejects tokens that are missing or have a duplicate name, and warns of two with the same value. */
function checkTokens(main: ConfigFile, tokens: Filled<SoundOf<typeof accessSchema>>['tokens'] = []): void {
  const names = new Set<string>();
  const values = new Map<string, string>();
  for (const [index, { name: tokenName, role: its, token }] of tokens.entries()) {
    const place = { file: main, path: ['web', 'access', 'tokens', index] };
    refuseSecretForms(place, 'token');
    if (findSecretForm(place, 'token') === undefined) {
      main.faults.add([...place.path, 'token'], 'Missing key; expected "token" or "token_file"');
    }
    if (tokenName === undefined || its === undefined) continue;
    const message = `The name "${tokenName}" is already taken by an earlier token`;
    if (names.has(tokenName)) main.faults.add([...place.path, 'name'], message);
    names.add(tokenName);
    if (!(token instanceof Secret)) continue;
    const same = values.get(token.reveal());
    if (same === undefined) values.set(token.reveal(), tokenName);
    else main.faults.warn(place.path, `The token has the same value as "${same}", whose role counts for both`);
  }
}

function toAccessRules({ open_health: isHealthOpen = false, users = {}, tokens = [] }: AccessSettings): AccessRules {
  const complete = tokens.flatMap(({ token, ...same }) => (token ? [{ ...same, token }] : []));
  return { isHealthOpen, users: new Map(Object.entries(users)), tokens: complete };
}

/** Unassigned in the Prometheus list of default exporter ports. */
const PORT_DEFAULT = 9847;
const AT_LEAST_ONE_LISTEN = `a list of addresses such as [":9847"]`;

const PROXIES_MAX = 100;
const PROXIES = `a list of at most ${PROXIES_MAX} addresses and networks such as ["10.0.0.0/8"]`;

const HOSTS_MAX = 100;
const HOSTS = `a list of at most ${HOSTS_MAX} host names such as ["monitoring.example.com"]`;
const HOST_PATTERN = /^(\*\.)?[a-z0-9]([a-z0-9_-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9_-]*[a-z0-9])?)*$/i;

function hostPattern(description: string) {
  const expected = 'a host name without port such as monitoring.example.com or *.example.com';
  const parse = (value: string) => (HOST_PATTERN.test(value) && describeHost(value) === undefined ? value : undefined);
  return parsed({ description, kind: 'host name' }, expected, parse, String, describeHost);
}

const PEERS_MAX = 1000;
const PEERS = `a list of at most ${PEERS_MAX} URLs such as ["http://exporter-0:9847", "http://exporter-1:9847"]`;

function peerUrl(description: string) {
  const expected = 'an http or https URL of scheme, host, port and path prefix alone, such as http://exporter-0:9847';
  return webUrl({ description }, expected, parseRouterUrl);
}

function network(description: string) {
  return parsed(
    { description, kind: 'address or network' },
    'an IP address, or a network such as 10.0.0.0/8 or fd00::/8',
    parseNetwork,
    renderNetwork,
    describeHost,
  );
}

/** Schema of the section `web` of the main configuration file. `webFileSchema` is that of the file named by its `config_file`. */
export const webSectionSchema = section('The server for metrics and the status page.', {
  listen: z
    .array(listenAddress({ description: 'Address to listen on.' }), { error: AT_LEAST_ONE_LISTEN })
    .min(1, { error: AT_LEAST_ONE_LISTEN })
    .superRefine((addresses, context) => {
      for (const [index, { host, port }] of addresses.entries()) {
        const first = addresses.findIndex((other) => other.host === host && other.port === port);
        if (first === index || port === 0) continue;
        context.addIssue({ code: 'custom', path: [index], message: 'an address that is not in the list yet' });
      }
    })
    .meta({
      // The generated reference would lose a default here, because the items are parsed.
      description: `Addresses to listen on: \`host:port\`, \`:port\` for every address, \`[::1]:port\`. Default: \`[":${PORT_DEFAULT}"]\`.`,
      kind: 'list of addresses',
    })
    .optional(),
  allowed_hosts: z
    .array(hostPattern('Host name, or `*.` and a domain for all names in it.'), { error: HOSTS })
    .max(HOSTS_MAX, { error: HOSTS })
    .meta({
      description:
        'Host names by which browsers may ask, such as `monitoring.example.com` or `*.example.com`. Always allowed: addresses, names without dots, `localhost`, `*.svc`, `*.cluster.local`, `*.internal`, the host of `--web.external-url` and of `listen`. Other names get 421; programs may ask for metrics by any name. Default: none.',
      kind: 'list of host names',
      advanced: true,
    })
    .optional(),
  trusted_proxies: z
    .array(network('Address or network of a proxy.'), { error: PROXIES })
    .max(PROXIES_MAX, { error: PROXIES })
    .meta({
      description:
        'Addresses and networks of proxies in front of the agent, such as `10.0.0.0/8`. They may have any number of connections, scrapes, pages and live readers; others half of all. Their `X-Forwarded-For` names the client. Default: none.',
      kind: 'list of addresses and networks',
    })
    .optional(),
  peers: z
    .array(peerUrl('Base URL of one process.'), { error: PEERS })
    .max(PEERS_MAX, { error: PEERS })
    .meta({
      description:
        'Base URLs of all processes that share the fleet, in the order of their `--shard`, this one included, such as `http://exporter-0:9847`. Their number is the default of `--total-shards`. With it `/sd` gives each router the address of its process, and other processes redirect requests for it there. Default: none, or the ports that `--web.shard-ports` gives.',
      kind: 'list of URLs',
    })
    .optional(),
  grafana_url: routerUrl({
    description:
      'Address of a Grafana with the dashboards of this project, such as `https://grafana.example.com`. Pages then link to them. Default: none.',
  }).optional(),
  access: accessSchema.optional(),
  config_file: absolutePath({
    description:
      'File with TLS, client certificates, users and headers of the server, in the format of the Prometheus exporters.',
  }).optional(),
});

/** The section `web`, and the content of its `config_file`. */
export type WebSettings = Settled<Filled<z.output<typeof webSectionSchema>>> & {
  /** Default: port 9847 on every address. */
  readonly listen: readonly ListenAddress[];
  /** From `config_file`; absent without one. */
  readonly security?: WebSecurity | undefined;
  /** Files to read again when they change. Absolute paths. Default: none. */
  readonly watched?: readonly string[] | undefined;
};

/** Reads the section `web`, and the `config_file` that it names. */
export async function readWeb(
  main: ConfigFile,
  keys: SoundOf<typeof webSectionSchema> = {},
  files: ConfigFiles,
): Promise<WebSettings> {
  const web = keys.config_file === undefined ? undefined : await readWebSecurity(main, keys.config_file, files);
  const settings = await new NamedFileReader().readSection({ file: main, path: ['web'] }, webSectionSchema, keys);
  checkTokens(main, settings.access?.tokens);
  const users = Object.keys(keys.access?.users ?? {});
  if (web?.security) checkUsers(main, users, web.security);
  else if (!web) for (const user of users) main.faults.warn([...ROLES_OF_USERS, user], NO_USERS);
  return {
    listen: [{ host: undefined, port: PORT_DEFAULT }],
    // A fault is reported before an incomplete token is used.
    ...(settings as Settled<Filled<z.output<typeof webSectionSchema>>>),
    security: web?.security,
    watched: web?.watched,
  } as WebSettings;
}

const ROLES_OF_USERS = ['web', 'access', 'users'];
const NO_USERS = 'No user has this name without "config_file" or --web.config.file';

/** A role for an unknown user leaves the user who was meant without it. */
function checkUsers(main: ConfigFile, named: readonly string[], { users }: WebSecurity): void {
  for (const user of named) {
    if (users.has(user)) continue;
    const nearest = findNearest(user, [...users.keys()]);
    main.faults.add([...ROLES_OF_USERS, user], 'No user of this name is in "config_file"', {
      aim: 'key',
      nearest,
    });
  }
}

/** Converts the settings to those of the server. */
export function toWebPolicy({ security, access, ...web }: WebSettings): WebPolicy {
  const { allowed_hosts: allowedHosts = [], trusted_proxies: trustedProxies, peers = [] } = web;
  // The other processes, and browsers redirected by them, use these names.
  const names = peers.map((url) => new URL(url).hostname);
  return {
    security,
    access: access && toAccessRules(access),
    allowedHosts: [...allowedHosts, ...names],
    trustedProxies,
  };
}
