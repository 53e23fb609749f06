import { isIPv4, isIPv6, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { CodedError, type Secret } from '../base/index.ts';
import { describeHost } from '../settings/index.ts';
import { classifyCode, type Peer, readErrorCode } from './error-codes.ts';
import { openSecureContext, toNameOptions } from './tls.ts';

/** A proxy between agent and peer that forwards connections without reading them. */
export interface ForwardProxy {
  /** Scheme (`http`, `https` or `socks5`), host and port, as in `http://proxy.example.com:3128`. */
  readonly url: string;
  /** Default: no authentication. */
  readonly username?: string | undefined;
  readonly password?: Secret | undefined;
  /** Trusted authorities of an `https` proxy, PEM. Default: those of the system and of Node.js. */
  readonly caPem?: string | undefined;
  /** Kind of the peer behind it, whose keys hints name. Default `router`. */
  readonly peer?: Peer | undefined;
  /** Environment variable that names the proxy; hints name it instead of keys. */
  readonly variable?: string | undefined;
}

/** The connection through a proxy failed: the address of the proxy (`dns`), its certificate (`tls`), or everything else. */
export class ProxyError extends CodedError<'dns' | 'tls' | 'connect'> {
  override readonly name = 'ProxyError';
}

/** Host (without brackets) and port. */
export interface HostAddress {
  readonly host: string;
  readonly port: number;
}

const PORTS: Readonly<Record<string, number>> = { http: 80, https: 443, socks5: 1080 };
const HOST = String.raw`\[[0-9a-f:.]+\]|[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?`;
const PROXY_URL = new RegExp(String.raw`^(http|https|socks5)://(${HOST})(?::(\d{1,5}))?/?$`, 'i');

/** Parses the URL of a proxy and adds the default port; `undefined` for anything else, also with credentials. */
export function parseProxyUrl(text: string): string | undefined {
  const [, scheme = '', host = '', digits] = PROXY_URL.exec(text) ?? [];
  if (scheme === '') return undefined;
  const port = digits === undefined ? PORTS[scheme.toLowerCase()] : Number(digits);
  if (port === undefined || port === 0 || port > 65_535) return undefined;
  const bare = host.replaceAll(/^\[|\]$/g, '');
  if (bare === host ? describeHost(text) !== undefined : !isIPv6(bare)) return undefined;
  return `${scheme.toLowerCase()}://${host.toLowerCase()}:${port}`;
}

/** Returns host and port of a proxy. */
export function toProxyAddress({ url }: Pick<ForwardProxy, 'url'>): HostAddress {
  const [, , host = '', port = ''] = PROXY_URL.exec(url) ?? [];
  return { host: host.replaceAll(/^\[|\]$/g, ''), port: Number(port) };
}

/** Renders the way to a peer for messages, to follow its address; empty for a direct connection. */
export function renderWay(proxy: ForwardProxy | undefined): string {
  return proxy ? ` through the proxy ${proxy.url}${proxy.variable === undefined ? '' : ` of ${proxy.variable}`}` : '';
}

/** The proxy's answers are far shorter. Bytes. */
const ANSWER_BYTES_MAX = 16 * 1024;

type Progress =
  | { readonly is: 'incomplete' }
  /** `used`: length of the answer. Send `send` next. */
  | { readonly is: 'next'; readonly used: number; readonly send: Buffer }
  /** `used`: length of the last answer. The peer's bytes follow. */
  | { readonly is: 'open'; readonly used: number }
  | { readonly is: 'refused'; readonly fault: ProxyError };

interface ProxyHandshake {
  readonly greeting: Buffer;
  /** `received`: all bytes since the last answer. */
  read(received: Buffer): Progress;
}

/**
 * Has a proxy connect to `target`, whose name it resolves, and returns the connection. `socket`: a new TCP connection to the
 * proxy. The caller sets the time limit, and ends `socket` after a {@link ProxyError}.
 */
export async function connectThroughProxy(socket: Socket, proxy: ForwardProxy, target: HostAddress): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const carrier = proxy.url.startsWith('https:') ? encrypt(socket, proxy) : socket;
  const handshake = proxy.url.startsWith('socks5:')
    ? new SocksHandshake(proxy, target)
    : createHttpHandshake(proxy, target);
  let received: Buffer = Buffer.alloc(0);
  const onEnd = () => reject(toEndError(proxy));
  const read = () => {
    for (;;) {
      const piece = carrier.read() as Buffer | null;
      if (piece === null) return;
      received = Buffer.concat([received, piece]);
      for (let progress = handshake.read(received); progress.is !== 'incomplete'; progress = handshake.read(received)) {
        if (progress.is === 'refused') return reject(progress.fault);
        received = received.subarray(progress.used);
        if (progress.is === 'open') {
          // A peer sends nothing before a request, so these bytes are the proxy's own.
          if (received.length > 0) return reject(toAnswerError(proxy, 'it sent more than its answer'));
          return resolve(carrier);
        }
        carrier.write(progress.send);
      }
      if (received.length > ANSWER_BYTES_MAX) return reject(toAnswerError(proxy, 'its answer is too long'));
    }
  };
  const begin = () => {
    carrier.on('readable', read);
    carrier.once('end', onEnd);
    carrier.once('close', onEnd);
    carrier.write(handshake.greeting);
  };
  carrier.on('error', (cause) => reject(toProxyError(cause, proxy)));
  if (carrier === socket) begin();
  else carrier.once('secureConnect', begin);
  try {
    return await promise;
  } finally {
    carrier.off('readable', read).off('end', onEnd).off('close', onEnd);
  }
}

function encrypt(socket: Socket, proxy: ForwardProxy): Socket {
  try {
    return connectTls({
      socket,
      ...toNameOptions(toProxyAddress(proxy).host),
      secureContext: openSecureContext({ caPem: proxy.caPem, certPem: undefined, keyPem: undefined }),
      ALPNProtocols: ['http/1.1'],
    });
  } catch (cause) {
    throw toProxyError(cause, proxy);
  }
}

function createHttpHandshake(proxy: ForwardProxy, { host, port }: HostAddress): ProxyHandshake {
  const authority = `${isIPv6(host) ? `[${host}]` : host}:${port}`;
  const { username, password } = proxy;
  const used = password?.reveal() ?? '';
  const account = Buffer.from(`${username ?? ''}:${used}`, 'utf8').toString('base64');
  const credentials = username === undefined ? '' : `Proxy-Authorization: Basic ${account}\r\n`;
  return {
    greeting: Buffer.from(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${credentials}\r\n`, 'latin1'),
    read(received) {
      let [start, end, status] = [0, 0, 100];
      // Interim answers (1xx) come first.
      for (; status >= 100 && status < 200; start = end + 4) {
        end = received.indexOf('\r\n\r\n', start);
        if (end < 0) return { is: 'incomplete' };
        status = Number(/^HTTP\/1\.[01] (\d{3})(?: |\r|$)/.exec(received.toString('latin1', start, end))?.[1]);
      }
      if (Number.isNaN(status)) return { is: 'refused', fault: toAnswerError(proxy, 'it does not answer in HTTP') };
      if (status >= 200 && status < 300) return { is: 'open', used: end + 4 };
      // The password may have changed on disk; the next connection uses it.
      if (status === 407) void password?.renew(used);
      return { is: 'refused', fault: toStatusError(proxy, authority, status) };
    },
  };
}

const SOCKS = 5;
const NO_METHOD = 0;
const PASSWORD_METHOD = 2;
/** Reply codes of RFC 1928; the other codes have no better description. */
const SOCKS_FAULTS: Readonly<Record<number, string>> = {
  1: 'general failure',
  2: 'its rules do not allow it',
  3: 'network unreachable',
  4: 'host unreachable',
  5: 'connection refused',
  6: 'time expired',
};

/** SOCKS version 5 (RFC 1928), with user and password (RFC 1929). */
class SocksHandshake implements ProxyHandshake {
  readonly greeting: Buffer;
  readonly #proxy: ForwardProxy;
  readonly #target: HostAddress;
  #step: 'method' | 'account' | 'request' = 'method';
  #used = '';

  constructor(proxy: ForwardProxy, target: HostAddress) {
    this.#proxy = proxy;
    this.#target = target;
    this.greeting = Buffer.from([SOCKS, 1, proxy.username === undefined ? NO_METHOD : PASSWORD_METHOD]);
  }

  read(received: Buffer): Progress {
    if (received.length < 2) return { is: 'incomplete' };
    const [version, code = 0] = received;
    switch (this.#step) {
      case 'method':
        return version === SOCKS && code !== 0xff ? this.#choose(code) : this.#refuse(version, code);
      case 'account':
        if (code !== 0) {
          void this.#proxy.password?.renew(this.#used);
          return { is: 'refused', fault: toAccountError(this.#proxy, 'refused user and password') };
        }
        return this.#ask();
      case 'request': {
        if (version !== SOCKS) return { is: 'refused', fault: toAnswerError(this.#proxy, NO_SOCKS) };
        if (code !== 0) return { is: 'refused', fault: toRequestError(this.#proxy, this.#target, code) };
        const length = measureReply(received);
        return length === undefined || received.length < length ? { is: 'incomplete' } : { is: 'open', used: length };
      }
    }
  }

  #refuse(version: number | undefined, code: number): Progress {
    const fault =
      version === SOCKS && code === 0xff
        ? toAccountError(this.#proxy, 'accepts no connection without another login')
        : toAnswerError(this.#proxy, NO_SOCKS);
    return { is: 'refused', fault };
  }

  #choose(method: number): Progress {
    if (method === NO_METHOD) return this.#ask();
    const { username, password } = this.#proxy;
    this.#used = password?.reveal() ?? '';
    if (method !== PASSWORD_METHOD || username === undefined) {
      return { is: 'refused', fault: toAnswerError(this.#proxy, 'it chose a login that was not offered') };
    }
    if (!isCountable(username) || !isCountable(this.#used)) {
      return {
        is: 'refused',
        fault: toAccountError(this.#proxy, `takes no user or password of more than ${COUNTED_MAX} bytes`),
      };
    }
    this.#step = 'account';
    return { is: 'next', used: 2, send: Buffer.concat([Buffer.from([1]), toCounted(username), toCounted(this.#used)]) };
  }

  #ask(): Progress {
    this.#step = 'request';
    const { host, port } = this.#target;
    // A truncated name is the name of another host, which would get the requests.
    if (!isCountable(host)) {
      const fault = toAnswerError(
        this.#proxy,
        `the name of the ${this.#proxy.peer ?? 'router'} has more than ${COUNTED_MAX} bytes`,
      );
      return { is: 'refused', fault };
    }
    const send = Buffer.concat([
      Buffer.from([SOCKS, 1, 0]),
      toSocksAddress(host),
      Buffer.from([port >> 8, port & 0xff]),
    ]);
    return { is: 'next', used: 2, send };
  }
}

const NO_SOCKS = 'it does not answer in SOCKS 5';

/** Type and address, or type and name for the proxy to resolve. */
function toSocksAddress(host: string): Buffer {
  if (isIPv4(host)) return Buffer.from([1, ...host.split('.').map(Number)]);
  if (!isIPv6(host)) return Buffer.concat([Buffer.from([3]), toCounted(host)]);
  // In the form of URLs: no dots, no zone.
  const [head = [], tail = []] = host.split('::').map((part) => (part === '' ? [] : part.split(':')));
  const groups = [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => '0'), ...tail];
  const bytes = groups.map((group) => Number.parseInt(group, 16)).flatMap((group) => [group >> 8, group & 0xff]);
  return Buffer.from([4, ...bytes]);
}

/** The length of a string takes one byte. */
const COUNTED_MAX = 255;

function isCountable(text: string): boolean {
  return Buffer.byteLength(text, 'utf8') <= COUNTED_MAX;
}

function toCounted(text: string): Buffer {
  const bytes = Buffer.from(text, 'utf8');
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
}

/** `undefined` if it is not known yet. */
function measureReply(received: Buffer): number | undefined {
  const [, , , type, first] = received;
  if (type === 1) return 10;
  if (type === 4) return 22;
  return first === undefined ? undefined : 7 + first;
}

/** `what` follows the name of the proxy. */
function toFault(
  { url }: ForwardProxy,
  what: string,
  hint: string,
  disposition: 'operator' | 'retry' = 'operator',
): ProxyError {
  return new ProxyError('connect', `The proxy ${url} ${what}`, { disposition, hint });
}

/** Names the keys of a proxy, or the variable that holds all of them. */
function renderKeys({ peer = 'router', variable }: ForwardProxy, keys: string): string {
  return variable === undefined ? `${keys} of this ${peer}` : `${variable} in the environment of this process`;
}

/** Converts the lack of an answer within a limit. */
export function toSilenceError(proxy: ForwardProxy, { host, port }: HostAddress, limitMs: number): ProxyError {
  const hint = `Check ${renderKeys(proxy, 'proxy.url')}, and whether the proxy reaches that address`;
  return toFault(proxy, `did not connect to ${host} port ${port} within ${limitMs / 1000} s`, hint, 'retry');
}

function toStatusError(proxy: ForwardProxy, authority: string, status: number): ProxyError {
  if (status === 407) return toAccountError(proxy, 'requires another login: it answered with 407');
  const what = `did not connect to ${authority}: it answered with ${status}`;
  return status >= 400 && status < 500
    ? toFault(proxy, what, `Check whether the proxy allows CONNECT to ${authority} from this machine`)
    : toFault(
        proxy,
        what,
        `Check host and port in the address of this ${proxy.peer ?? 'router'}, and whether the proxy reaches it`,
        'retry',
      );
}

function toRequestError(proxy: ForwardProxy, { host, port }: HostAddress, code: number): ProxyError {
  return toFault(
    proxy,
    `did not connect to ${host} port ${port}: ${SOCKS_FAULTS[code] ?? `code ${code}`}`,
    `Check host and port in the address of this ${proxy.peer ?? 'router'}, and whether the proxy reaches it and allows it`,
    code === 2 ? 'operator' : 'retry',
  );
}

function toAccountError(proxy: ForwardProxy, what: string): ProxyError {
  return toFault(proxy, what, `Check ${renderKeys(proxy, 'proxy.username and proxy.password')}`);
}

function toAnswerError(proxy: ForwardProxy, reason: string): ProxyError {
  return toFault(proxy, `cannot be used: ${reason}`, `Check scheme and port of ${renderKeys(proxy, 'proxy.url')}`);
}

function toEndError(proxy: ForwardProxy): ProxyError {
  const hint = `Check scheme and port of ${renderKeys(proxy, 'proxy.url')}, and the log of the proxy`;
  return toFault(proxy, 'ended the connection without an answer', hint, 'retry');
}

/** Converts an error of the connection to the proxy itself. */
export function toProxyError(cause: unknown, proxy: ForwardProxy): ProxyError {
  if (cause instanceof ProxyError) return cause;
  const fault = classifyCode(readErrorCode(cause));
  const isUntrusted = fault === 'tls';
  const what = fault === 'no-address' ? 'has no address' : isUntrusted ? 'is not trusted' : 'cannot be reached';
  const code = fault === 'no-address' ? 'dns' : isUntrusted ? 'tls' : 'connect';
  return new ProxyError(code, `The proxy ${proxy.url} ${what}`, {
    disposition: isUntrusted ? 'operator' : 'retry',
    hint: isUntrusted
      ? `Check ${renderKeys(proxy, 'proxy.ca_file')}, and whether the certificate of the proxy has its name`
      : `Check ${renderKeys(proxy, 'proxy.url')}, and whether the proxy runs`,
    cause,
  });
}
