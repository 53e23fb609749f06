import { isIP } from 'node:net';
import type { WebContext } from './web-dependencies.ts';

/**
 * Names that nobody outside can point to this machine: of the machine itself, of a container network, of a Kubernetes
 * cluster, and reserved for private use.
 */
const PRIVATE_SUFFIXES = ['.localhost', '.svc', '.cluster.local', '.internal'];
/** Routes that programs ask by whatever name the machine has; below the route prefix. */
const FOR_PROGRAMS = /^\/(metrics(\/agent)?|probe|sd|-\/\w+)$/;
/** Headers of every browser that a page can neither remove nor make a browser omit. */
const BROWSER_HEADERS = ['accept-language', 'origin', 'sec-fetch-site', 'sec-fetch-mode', 'sec-fetch-dest'];

/**
 * Names by which the server may be asked. A page of another site can point its own name to this machine (DNS rebinding);
 * its scripts then read everything here as if it were theirs. The name in `Host` gives that away.
 */
export class HostPolicy {
  readonly #names: ReadonlySet<string>;
  /** With the dot, as in `.example.com`. */
  readonly #suffixes: readonly string[];

  /** `names` may begin with `*.`. */
  constructor(names: readonly string[]) {
    const small = names.map((name) => name.toLowerCase());
    this.#names = new Set(small.filter((name) => !name.startsWith('*')));
    this.#suffixes = [...PRIVATE_SUFFIXES, ...small.flatMap((name) => (name.startsWith('*.') ? [name.slice(1)] : []))];
  }

  /**
   * True when a request may be answered. `path` is below the route prefix. Programs may use any name on the routes made
   * for them, because only a browser lets a foreign page choose the name.
   */
  admits(context: WebContext, path: string): boolean {
    const host = context.req.header('host');
    // HTTP/1.0, which no browser speaks.
    if (host === undefined || this.knows(host)) return true;
    return FOR_PROGRAMS.test(path) && !isBrowser(context);
  }

  /** True for an address, a name without dots, a private name and a configured one, with or without a port. */
  knows(host: string): boolean {
    const name = host.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '');
    if (isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0) return true;
    if (!/^[a-z0-9._-]+$/.test(name)) return false;
    return !name.includes('.') || this.#names.has(name) || this.#suffixes.some((suffix) => name.endsWith(suffix));
  }
}

function isBrowser(context: WebContext): boolean {
  const { req } = context;
  if ((req.header('user-agent') ?? '').startsWith('Mozilla/')) return true;
  return BROWSER_HEADERS.some((name) => req.header(name) !== undefined);
}
