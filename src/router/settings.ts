import { isIP } from 'node:net';
import { z } from 'zod';
import {
  certificates,
  checked,
  choice,
  describeHost,
  headersShape,
  parsed,
  routerUrl,
  type Settled,
  type SoundOf,
  secret,
  secretShape,
  section,
  text,
  tlsSection,
  token,
  wholeNumber,
  withSecrecy,
} from '../settings/index.ts';
import { parseProxyUrl } from './connection/proxy.ts';
import { AUTH_MODES } from './options.ts';

/** The key `url` of a router. */
export const urlKey = routerUrl({
  description: 'Address of the router: http or https, host, port and an optional path prefix.',
});

const tls = tlsSection({
  section: 'How the certificate of an https router is verified.',
  caFile:
    'PEM file with the certificates of the authorities to trust, instead of those of the system and of Node.js. A self-signed certificate of a router is its own authority.',
  serverName: 'Host name expected in the certificate. Default: the host of `url`.',
  certFile: 'PEM file with the client certificate. Requires `key_file`.',
  fingerprint:
    'SHA-256 of the certificate of the router, in hexadecimal. No other certificate is accepted; without `ca_file` it needs no authority.',
  insecure: 'Accepts every certificate. Anyone between agent and router can then read the password.',
});

/** Keys of a router for the authentication of requests. */
const accountShape = {
  username: text({
    description: 'Account on the router. Required here or in `defaults` with `auth: token` and `basic`.',
  }).optional(),
  ...secretShape(
    'password',
    secret('Password of the account. Required here or in `defaults` with `auth: token` and `basic`.'),
  ),
  auth: choice(
    {
      description:
        'How requests are authenticated: `token` logs in, `basic` sends the password with every request, `bearer` sends `bearer_token` with every request, `none` is for devices without users.',
      advanced: true,
    },
    AUTH_MODES,
  ).prefault('token'),
  ...secretShape('bearer_token', token('Token that is sent with every request, with `auth: bearer`.')),
  ...headersShape({
    description:
      'Headers of every request, such as a token of a gateway. They replace those of the layers below. `Authorization` only with `auth: none`. Only in the main file.',
    ofFiles:
      'Headers whose values are read from files; one trailing line end is ignored. In addition to `headers` beside it. Only in the main file.',
    reserved: ['accept', 'accept-encoding', 'if-none-match', 'proxy-authorization', 'range'],
  }),
};

const PROXY_URL =
  'the URL of a proxy: http, https or socks5, host and port, without credentials, such as http://proxy.example.com:3128';
const NAME_BYTES_MAX = 255;
const PROXY_NAME = `a user name of 1 to ${NAME_BYTES_MAX} characters without ":" and control characters`;
const NO_PROXY = '"none", or a map with the "url" of a proxy';

const proxySection = section(
  'Proxy on the way to the router. It sees the address of the router and, with `https`, nothing else.',
  {
    url: withSecrecy(
      'possible',
      parsed(
        {
          description:
            'URL of the proxy. `http` and `https` ask it with CONNECT, also for routers without TLS; `socks5` is SOCKS version 5. The proxy resolves the name of the router. Default of the port: 80, 443, 1080.',
          kind: 'URL',
        },
        PROXY_URL,
        parseProxyUrl,
        String,
        describeHost,
      ),
    ),
    username: checked({ description: 'Account on the proxy, with a password.' }, PROXY_NAME, NAME_BYTES_MAX, (value) =>
      /^[^:\p{Cc}]+$/u.test(value),
    ).optional(),
    ...secretShape('password', secret('Password of the account.')),
    ca_file: certificates(
      'PEM file with the certificates of the authorities to trust for an `https` proxy, instead of those of the system and of Node.js.',
    ).optional(),
  },
);

const SOURCE_ADDRESS = 'an IP address of this machine, such as 192.0.2.5';

/** Keys of a router for the way to it. */
const wayShape = {
  proxy: withSecrecy(
    'possible',
    z.union([z.literal('none'), proxySection], { error: NO_PROXY }).meta({
      description: 'Proxy on the way to the router; replaces that of the layers below. `none`: there is none.',
      kind: '`none`, or a map',
    }),
  ).optional(),
  source_address: parsed(
    {
      description:
        'Own address from which connections to the router, or to its proxy, are opened. Default: the system chooses it.',
      kind: 'IP address',
      advanced: true,
    },
    SOURCE_ADDRESS,
    (value) => (isIP(value) !== 0 && describeHost(value) === undefined ? value : undefined),
    String,
    describeHost,
  ).optional(),
};

/** Keys of a router for the way to it, the authentication and the verification of its certificate. */
export const connectionShape = { ...accountShape, tls: tls.optional(), ...wayShape };

/** Schema of the section `tls` of a router. */
export const routerTlsSchema = tls;
export { accountShape as routerAccountShape };

/** The valid keys of a proxy. */
export type WrittenProxy = SoundOf<typeof proxySection>;

const CONNECTIONS_LEAST = 1;
const CONNECTIONS_MOST = 1_000_000;

/** Schema of the section `connections`. */
export const connectionsSchema = section('Connections to the routers.', {
  max: wholeNumber(
    {
      description:
        'Maximum number of connections that are open at a time, over all routers. Beyond it, the one that has been idle for longest is closed first. Default: half of the open files that the process may have, and at most one for each MiB of memory.',
      advanced: true,
    },
    CONNECTIONS_LEAST,
    CONNECTIONS_MOST,
  ).optional(),
}).meta({ advanced: true });

/** The section `connections`. */
export type ConnectionSettings = Settled<z.output<typeof connectionsSchema>>;

/** Resources of the process that bound its connections. */
interface ConnectionResources {
  /** Number of files that the process may have open; `undefined` if unknown. */
  readonly descriptors: number | undefined;
  /** Memory of the machine or the container. Bytes. */
  readonly memoryBytes: number;
}

/** The other half is for clients of the agent's own server, sinks, files and threads. */
const DESCRIPTOR_SHARE = 1 / 2;
/** A kept connection takes about 100 KiB, so this bounds all of them to a tenth of the memory. Bytes. */
const MEMORY_FOR_EACH = 1024 ** 2;
const DEFAULT_LEAST = 16;

/** Returns the limit of connections without a configured one. */
export function findConnectionsMax({ descriptors = Infinity, memoryBytes }: ConnectionResources): number {
  const most = Math.min(descriptors * DESCRIPTOR_SHARE, memoryBytes / MEMORY_FOR_EACH);
  return Math.max(DEFAULT_LEAST, Math.floor(most));
}
