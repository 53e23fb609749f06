import { Secret } from '../base/index.ts';
import { findAddressFault, parseAllowedAddress, type SourceSettings } from '../inventory/index.ts';
import { parseProxyUrl, toAddress } from '../net/index.ts';
import type { Environment } from '../settings/index.ts';
import type { SinkSettings } from '../sinks/index.ts';
import type { Named } from './checks.ts';

/**
 * Gives sinks or sources over HTTP that have no `proxy` that of `HTTPS_PROXY` or `HTTP_PROXY`, unless `NO_PROXY` lists their
 * host. `places`: of all of their section; a variable that names no proxy is a fault there. Returns the variable of each key
 * that it has set, such as `sinks.0.proxy.url`.
 */
export function fillProxies(
  all: readonly (SinkSettings | SourceSettings)[],
  places: readonly Named[],
  env: Environment,
): Record<string, string> {
  const origins: Record<string, string> = {};
  for (const { file, path, name } of places) {
    const one = all.find((settings) => settings.name === name);
    if (!one || !('url' in one) || one.proxy !== undefined) continue;
    const found = findProxy(typeof one.url === 'string' ? one.url : one.url.url, env);
    if (typeof found === 'string') {
      // The value may hold a password.
      const message = `Expected the URL of a proxy in the environment variable ${found}, such as http://proxy.example.com:3128; found other text. Correct it, or set "proxy" here; "none" is a direct connection`;
      file.faults.add([...path, 'proxy'], message);
    } else if (found) {
      Object.assign(one, { proxy: found });
      for (const key of Object.keys(found)) origins[[...path, 'proxy', key].join('.')] = found.variable;
    }
  }
  return origins;
}

/** Returns the proxy of the environment for a URL, if there is one; the name of a variable that names none. */
function findProxy(target: string, env: Environment) {
  // As with curl: small letters first, and an empty variable is none.
  const find = (name: string) => [name.toLowerCase(), name].find((one) => env[one]?.trim());
  const variable = find(target.startsWith('https:') ? 'HTTPS_PROXY' : 'HTTP_PROXY');
  if (variable === undefined || isExempt(new URL(target), env[find('NO_PROXY') ?? ''] ?? '')) return undefined;
  const value = env[variable]?.trim() ?? '';
  try {
    const parsed = new URL(value.includes('://') ? value : `http://${value}`);
    const url = parseProxyUrl(`${parsed.protocol.replace('socks5h', 'socks5')}//${parsed.host}`);
    const username = decodeURIComponent(parsed.username);
    const account = username !== '' && { username, password: new Secret(decodeURIComponent(parsed.password)) };
    return url === undefined ? variable : { url, ...account, variable };
  } catch {
    return variable;
  }
}

/** Returns true for this machine, and for hosts that `list` names: domains, addresses and networks, also with a port, or `*`. */
function isExempt(url: URL, list: string): boolean {
  const { host, port } = toAddress(url);
  return ['localhost', '127.0.0.0/8', '::1', ...list.toLowerCase().split(/[\s,]+/)].some((entry) => {
    const [, name = entry, digits] = /^(\[.*\]|[^:]*):(\d+)$/.exec(entry) ?? [];
    if (digits !== undefined && Number(digits) !== port) return false;
    const network = parseAllowedAddress(name.replaceAll(/[[\]]/g, ''));
    if (network?.kind === 'network') {
      return findAddressFault(url.href, { allowed_addresses: [network], allow_http: true }) === undefined;
    }
    const domain = name.replace(/^\*?\./, '');
    return name === '*' || (domain !== '' && `.${host}`.endsWith(`.${domain}`));
  });
}
