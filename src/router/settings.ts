import { z } from 'zod';
import {
  choice,
  orDefaults,
  routerUrl,
  type SoundOf,
  secretShape,
  section,
  text,
  tlsSection,
  wholeNumber,
} from '../settings/index.ts';
import { AUTH_MODES } from './requests/session.ts';

/** The key `url` of a router. */
export const urlKey = routerUrl({
  description: 'Address of the router: http or https, host, port and an optional path prefix.',
});

const tls = tlsSection({
  section: 'How the certificate of an https router is verified.',
  caFile:
    'PEM file with the certificates of the authorities to trust, instead of those of the system. A self-signed certificate of a router is its own authority.',
  serverName: 'Host name expected in the certificate. Default: the host of `url`.',
  certFile: 'PEM file with the client certificate. Requires `key_file`.',
  fingerprint:
    'SHA-256 of the certificate of the router, in hexadecimal. No other certificate is accepted; without `ca_file` it needs no authority.',
  insecure: 'Accepts every certificate. Anyone between agent and router can then read the password.',
});

/** Keys of a router for the login and the verification of its certificate. */
export const connectionShape = {
  username: text({
    description: 'Account on the router. Required here or in `defaults`, except with `auth: none`.',
  }).optional(),
  ...secretShape('password', {
    description:
      'Password of the account. This, or one of the three keys that replace it, is required, here or in `defaults`, except with `auth: none`.',
    what: 'password',
  }),
  auth: choice(
    {
      description:
        'How requests are authenticated: `token` logs in, `basic` sends the password with every request, `none` is for devices without users.',
    },
    AUTH_MODES,
  ).prefault('token'),
  tls: tls.optional(),
};

const CONNECTIONS_LEAST = 1;
const CONNECTIONS_MOST = 1_000_000;

/** Schema of the section `connections`. */
export const connectionsSchema = section('Connections to the routers.', {
  max: wholeNumber(
    {
      description:
        'Maximum number of connections that are open at a time, over all routers. Beyond it, the one that has been idle for longest is closed first. Default: half of the open files that the process may have, and at most one for each MiB of memory.',
    },
    CONNECTIONS_LEAST,
    CONNECTIONS_MOST,
  ).optional(),
});

/** The key `connections`, checked. */
export type ConnectionSettings = Readonly<ReturnType<typeof readConnections>>;

/** Converts the section to settings. */
export function readConnections(keys: SoundOf<typeof connectionsSchema> | undefined) {
  const { max: connectionsMax } = orDefaults(connectionsSchema, keys);
  return { connectionsMax };
}

/** Renders settings as the section; `undefined` if it would be empty. */
export function renderConnections({ connectionsMax }: ConnectionSettings): object | undefined {
  return connectionsMax === undefined ? undefined : z.encode(connectionsSchema, { max: connectionsMax });
}

/** Resources of the process that bound its connections. */
export interface ConnectionResources {
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
