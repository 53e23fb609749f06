import { z } from 'zod';
import {
  absolutePath,
  type ConfigFile,
  type ConfigFiles,
  describeHost,
  type Filled,
  findNearest,
  type ListenAddress,
  listenAddress,
  NamedFileReader,
  parsed,
  parseRouterUrl,
  removed,
  renderListenAddress,
  routerUrl,
  type Settled,
  type SoundOf,
  section,
  webUrl,
} from '../settings/index.ts';
import { accessSchema, checkTokens, toAccessRules } from './access-settings.ts';
import { AddressSet, LOOPBACK, parseNetwork, renderNetwork } from './address.ts';
import { readWebSecurity } from './load-web-config.ts';
import { revealSecurity, type WebSecuritySettings } from './security.ts';
import type { WebPolicy } from './server.ts';

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

/** The section `web`. */
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
      // A default here would be lost on the way to the reference, because the items are parsed.
      description: `Addresses to listen on: \`host:port\`, \`:port\` for every address, \`[::1]:port\`. Default: \`[":${PORT_DEFAULT}"]\`.`,
      kind: 'list of addresses',
    })
    .optional(),
  fresh_min_age: removed('leave it out; a fresh probe polls a router whose values are 10s old or older'),
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
        'Base URLs of all processes that share the fleet, in the order of their `--shard`, this one included, such as `http://exporter-0:9847`. Their number is the default of `--total-shards`. With it `/sd` gives each router the address of its process, and other processes redirect requests for it there. Default: none.',
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

/** The section `web`, and the content of the `config_file` that it names. */
export type WebSettings = Settled<Filled<z.output<typeof webSectionSchema>>> & {
  /** Addresses to listen on. Default: port 9847 on every address. */
  readonly listen: readonly ListenAddress[];
  /** TLS, users and headers from `config_file`; absent without one. */
  readonly security?: WebSecuritySettings | undefined;
  /** Files that the settings come from, to be read again when they change. Absolute paths. Default: none. */
  readonly watched?: readonly string[] | undefined;
};

/** Reads the section, and the `config_file` that it names. */
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

/** Where users have roles. */
const ROLES_OF_USERS = ['web', 'access', 'users'];
const NO_USERS = 'Nobody has this name without "config_file", or the file that --web.config.file names';

/** A role for a user who does not exist leaves the one who was meant without it. */
function checkUsers(main: ConfigFile, named: readonly string[], { users }: WebSecuritySettings): void {
  for (const user of named) {
    if (users.has(user)) continue;
    const nearest = findNearest(user, [...users.keys()]);
    main.faults.add([...ROLES_OF_USERS, user], 'No user of this name is in "config_file"', {
      aim: 'key',
      nearest,
    });
  }
}

/** Says who may reload and end an agent with `--web.enable-lifecycle`, if that is everybody who reaches it; else `undefined`. */
export function describeOpenLifecycle({ listen, access, security }: WebSettings): string | undefined {
  const own = new AddressSet(LOOPBACK);
  const open = listen.find(({ host }) => host !== 'localhost' && !own.has(host ?? ''));
  const isClosed =
    (access?.tokens?.length ?? 0) > 0 ||
    (security?.users.size ?? 0) > 0 ||
    security?.tls?.clientAuth === 'require-and-verify';
  if (!open || isClosed) return undefined;
  return `With --web.enable-lifecycle, and without users and tokens, everybody who reaches ${renderListenAddress(open)} may reload and end the agent; name users or tokens, or listen on 127.0.0.1 alone`;
}

/** Converts the settings to what the server takes, with secrets in clear text. */
export function toWebPolicy({ security, access, ...web }: WebSettings): WebPolicy {
  const { allowed_hosts: allowedHosts = [], trusted_proxies: trustedProxies, peers = [] } = web;
  // The other processes, and browsers that they redirect, ask by these names.
  const names = peers.map((url) => new URL(url).hostname);
  return {
    security: revealSecurity(security),
    access: access && toAccessRules(access),
    allowedHosts: [...allowedHosts, ...names],
    trustedProxies,
  };
}
