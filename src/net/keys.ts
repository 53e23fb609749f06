import { z } from 'zod';
import type { Secret } from '../base/index.ts';
import {
  type About,
  certificates,
  checked,
  describeHost,
  type Filled,
  findSecretForm,
  isWritten,
  type Place,
  parsed,
  parseListenAddress,
  parseRouterUrl,
  refuseSecretForms,
  renderListenAddress,
  type Settled,
  type SoundOf,
  secret,
  secretShape,
  section,
  text,
  tlsSection,
  token,
  webUrl,
  withSecrecy,
} from '../settings/index.ts';
import type { Peer } from './error-codes.ts';
import { type ForwardProxy, parseProxyUrl } from './proxy.ts';

/** Keys of the settings of a network client: TLS and authentication. */

/** The key `tls`; only for TLS addresses. */
export const tls = tlsSection({
  section: 'TLS settings. Only for TLS addresses.',
  caFile: 'PEM file with the trusted CA certificates. Default: those of the system and of Node.js.',
  serverName: 'Host name that the certificate must carry. Default: the host of the address.',
  certFile: 'PEM file with the client certificate of the agent. Requires `key_file`.',
  fingerprint:
    'SHA-256 fingerprint of the server certificate, in hexadecimal. Only this certificate is accepted; without `ca_file`, it need not be signed by a trusted CA. Not for `nats`.',
  insecure: 'Accepts any certificate. An attacker in between can then read records and secrets.',
}).optional();

/** Rejects `tls` on unencrypted connections (`plainReason` says why they are), and a certificate or key without the other. */
export function checkTls(place: Place, keys: SoundOf<typeof tls>, plainReason: string | undefined): void {
  const { file, path } = place;
  if (!isWritten(place, 'tls')) return;
  if (plainReason !== undefined) {
    file.faults.add([...path, 'tls'], `"tls" has no effect here, because ${plainReason}`, { aim: 'key' });
  }
  const inside = { file, path: [...path, 'tls'] };
  for (const [present, missing] of [
    ['cert_file', 'key_file'],
    ['key_file', 'cert_file'],
  ] as const) {
    if (keys?.[present] === undefined || isWritten(inside, missing)) continue;
    file.faults.add([...inside.path, present], `"${present}" requires "${missing}"`);
  }
}

/** Keys of the authentication methods; a client uses at most one method. */
export const accountShape = {
  username: text({ description: 'Account, with a password.' }).optional(),
  ...secretShape('password', secret('Password of the account.')),
  ...secretShape('bearer_token', token('Bearer token, instead of an account.')),
};

/** The authentication key of Elasticsearch. */
export const apiKeyShape = secretShape('api_key', token('API key in its encoded form, instead of an account.'));

type AccountSettings = Settled<Filled<SoundOf<z.ZodObject<typeof accountShape & typeof apiKeyShape>>>>;

const AUTH_METHODS = ['password', 'bearer_token', 'api_key'] as const;

/** Returns the first configured key of each authentication method. `own`: keys of methods specific to this client. */
export function listAuthMethods(place: Place, ...own: readonly string[]): string[] {
  const [account, ...others] = AUTH_METHODS.map((name) => findSecretForm(place, name));
  const first = isWritten(place, 'username') ? 'username' : account;
  const written = [first, ...others, ...own.filter((key) => isWritten(place, key))];
  return written.filter((key) => key !== undefined);
}

/** Rejects a second authentication method, and a user name or password without the other. `who`: the client in messages. */
export function checkAccount(place: Place, who: string, ...own: readonly string[]): void {
  const { file, path } = place;
  for (const name of AUTH_METHODS) refuseSecretForms(place, name);
  const [first, ...others] = listAuthMethods(place, ...own);
  for (const key of others) {
    file.faults.add([...path, key], `Both "${first}" and "${key}" are set; ${who} uses one authentication method`, {
      aim: 'key',
    });
  }
  const password = findSecretForm(place, 'password');
  if (password === undefined && isWritten(place, 'username')) {
    file.faults.add([...path, 'username'], '"username" requires "password" or "password_file"', { aim: 'key' });
  }
  if (password !== undefined && !isWritten(place, 'username')) {
    file.faults.add([...path, password], `"${password}" requires "username"`, { aim: 'key' });
  }
}

/** Returns the configured credentials; `undefined` if there are none. */
export function toClientAuth({
  username,
  password,
  bearer_token: bearer,
  api_key: key,
}: AccountSettings): ClientAuth | undefined {
  if (username !== undefined && password) return { kind: 'basic', username, password };
  if (bearer) return { kind: 'bearer', token: bearer };
  return key && { kind: 'api-key', key };
}

/** Authentication of a client. */
export type ClientAuth =
  | { readonly kind: 'basic'; readonly username: string; readonly password: Secret }
  | { readonly kind: 'bearer'; readonly token: Secret }
  /** `Authorization: ApiKey …` of Elasticsearch. */
  | { readonly kind: 'api-key'; readonly key: Secret };

/** Returns the secret of credentials. */
export function secretOf(auth: ClientAuth): Secret {
  switch (auth.kind) {
    case 'basic':
      return auth.password;
    case 'bearer':
      return auth.token;
    case 'api-key':
      return auth.key;
  }
}

const PROXY_URL =
  'the URL of a proxy: http, https or socks5, host and port, without credentials, such as http://proxy.example.com:3128';
const NAME_BYTES_MAX = 255;
const PROXY_NAME = `a user name of 1 to ${NAME_BYTES_MAX} characters without ":" and control characters`;
const OF_ENVIRONMENT =
  'Proxy on the way to it. `none`: a direct connection. Default: that of `HTTPS_PROXY` or `HTTP_PROXY` in the environment, unless `NO_PROXY` lists the host.';
const NO_PROXY = '"none", or a map with the "url" of a proxy';

const proxySection = section(
  'Proxy on the way. It sees the address that is asked for and, with `https`, nothing else.',
  {
    url: withSecrecy(
      'possible',
      parsed(
        {
          description:
            'URL of the proxy. `http` and `https` ask it with CONNECT, also for addresses without TLS; `socks5` is SOCKS version 5. The proxy resolves names. Default of the port: 80, 443, 1080.',
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

/** Creates the key `proxy`. The default is that of the environment, unless `description` is given. */
export function proxyKey(description = OF_ENVIRONMENT) {
  const key = z.union([z.literal('none'), proxySection], { error: NO_PROXY });
  return withSecrecy('possible', key.meta({ description, kind: '`none`, or a map' })).optional();
}

type ProxyKey = ReturnType<typeof proxyKey>;
/** The key `proxy` with its secret and the content of its file. */
type ProxySettings = Settled<Filled<{ proxy: SoundOf<ProxyKey> }>>['proxy'];

/** Rejects an account of a proxy without its other half, and `ca_file` that has no effect. `place`: that of `proxy`. */
export function checkProxy({ file, path }: Place, proxy: SoundOf<ProxyKey>): void {
  if (proxy === undefined || proxy === 'none') return;
  const place = { file, path: [...path, 'proxy'] };
  checkAccount(place, 'a proxy');
  if (isWritten(place, 'ca_file') && proxy.url?.startsWith('https:') === false) {
    const message = '"ca_file" has no effect here, because "url" does not begin with https://';
    file.faults.add([...place.path, 'ca_file'], message, { aim: 'key' });
  }
}

/** Returns the proxy that a client uses; `undefined` for a direct connection. */
export function toProxy(proxy: ProxySettings, peer: Peer): ForwardProxy | undefined {
  // Without faults it has a URL.
  return typeof proxy === 'object' && proxy.url !== undefined
    ? { ...proxy, url: proxy.url, caPem: proxy.ca_file, peer }
    : undefined;
}

const URL_EXPECTED =
  'an http or https URL of scheme, host, port and path alone, without credentials, query and fragment, such as';

/** Creates the schema of a base URL, without a trailing slash. */
export function baseUrl(about: About, example: string) {
  return webUrl(about, `${URL_EXPECTED} ${example}`, parseRouterUrl);
}

interface HostAndPort {
  readonly host: string;
  readonly port: number;
}

/** Parses `host:port` or `[::1]:port` with a port from 1 to 65535. */
export function parseHostAndPort(value: string): HostAndPort | undefined {
  const { host, port } = parseListenAddress(value) ?? {};
  return host !== undefined && port !== undefined && port > 0 ? { host, port } : undefined;
}

/** Creates the schema of a key whose value is `host:port`. */
export function hostAndPort(about: About) {
  return parsed(
    { kind: 'address', ...about },
    'host:port or [IPv6 address]:port with a port from 1 to 65535',
    parseHostAndPort,
    renderListenAddress,
    describeHost,
  );
}
