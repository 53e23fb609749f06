import { isIPv4, isIPv6, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Secret } from '../../base/index.ts';
import { classifyCode, openSecureContext, readErrorCode, toNameOptions } from '../../net/index.ts';
import { describeHost } from '../../settings/index.ts';
import { RouterError } from '../errors.ts';

/** A proxy on the way to a router, which leads connections on without reading them. */
export interface RouterProxy {
  /** Scheme (`http`, `https` or `socks5`), host and port, as in `http://proxy.example.com:3128`. */
  readonly url: string;
  /** Account on the proxy; absent: it takes none. */
  readonly username?: string | undefined;
  /** Password of the account. */
  readonly password?: Secret | undefined;
  /** Authorities of an `https` proxy instead of those of the system and of Node.js, as PEM. */
  readonly caPem?: string | undefined;
}

/** Host (without brackets) and port. */
export interface HostAddress {
  readonly host: string;
  readonly port: number;
}

const PORTS: Readonly<Record<string, number>> = { http: 80, https: 443, socks5: 1080 };
const HOST = String.raw`\[[0-9a-f:.]+\]|[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?`;
const PROXY_URL = new RegExp(String.raw`^(http|https|socks5)://(${HOST})(?::(\d{1,5}))?/?$`, 'i');

/** Parses the URL of a proxy, and adds its port; `undefined` for anything else, credentials included. */
export function parseProxyUrl(text: string): string | undefined {
  const [, scheme = '', host = '', digits] = PROXY_URL.exec(text) ?? [];
  if (scheme === '') return undefined;
  const port = digits === undefined ? PORTS[scheme.toLowerCase()] : Number(digits);
  if (port === undefined || port === 0 || port > 65_535) return undefined;
  const bare = host.replaceAll(/^\[|\]$/g, '');
  if (bare === host ? describeHost(text) !== undefined : !isIPv6(bare)) return undefined;
  return `${scheme.toLowerCase()}://${host.toLowerCase()}:${port}`;
}

/** Returns where a proxy is. */
export function toProxyAddress({ url }: Pick<RouterProxy, 'url'>): HostAddress {
  const [, , host = '', port = ''] = PROXY_URL.exec(url) ?? [];
  return { host: host.replaceAll(/^\[|\]$/g, ''), port: Number(port) };
}

/** Answers to the client's messages are far shorter; a longer one ends the connection. Bytes. */
const ANSWER_BYTES_MAX = 16 * 1024;

/** The next step after an answer of the proxy. */
type Progress =
  /** More has to come first. */
  | { readonly is: 'incomplete' }
  /** The first `used` bytes are an answer; this comes next. */
  | { readonly is: 'next'; readonly used: number; readonly send: Buffer }
  /** The first `used` bytes are the last answer: from here on, the router answers. */
  | { readonly is: 'open'; readonly used: number }
  | { readonly is: 'refused'; readonly fault: RouterError };

/** The dialogue of client and proxy before the router's bytes. */
interface Dialogue {
  readonly greeting: Buffer;
  /** Reads what has come since the last answer. */
  read(received: Buffer): Progress;
}

/** Target and owner of a connection through a proxy. */
interface ProxyLeadOptions {
  /** TCP connection to the proxy, just opened. */
  readonly socket: Socket;
  /** The proxy that `socket` leads to. */
  readonly proxy: RouterProxy;
  /** The router, whose name the proxy resolves. */
  readonly target: HostAddress;
  /** Called with the connection that carries the dialogue: `socket`, or TLS over it. Its errors are for `settle` until the end. */
  readonly onCarrier: (carrier: Socket) => void;
  /** Called once, with the connection to the router, or what stood in the way. The caller ends the connection then. */
  readonly settle: (...result: readonly [RouterError, null] | readonly [null, Socket]) => void;
}

/** Has a proxy lead a connection on to the router. The time limit is the caller's. */
export function leadThrough({ socket, proxy, target, onCarrier, settle }: ProxyLeadOptions): void {
  let carrier: Socket;
  try {
    carrier = proxy.url.startsWith('https:') ? encrypt(socket, proxy) : socket;
  } catch (cause) {
    settle(toProxyError(cause, proxy), null);
    return;
  }
  let isSettled = false;
  const dialogue = proxy.url.startsWith('socks5:')
    ? new SocksDialogue(proxy, target)
    : createHttpDialogue(proxy, target);
  let received: Buffer = Buffer.alloc(0);
  const end = (...result: readonly [RouterError, null] | readonly [null, Socket]) => {
    if (isSettled) return;
    isSettled = true;
    carrier.off('readable', read);
    carrier.off('end', onEnd);
    carrier.off('close', onEnd);
    settle(...result);
  };
  const onEnd = () => end(toEndError(proxy), null);
  const read = () => {
    for (;;) {
      const piece = carrier.read() as Buffer | null;
      if (piece === null) return;
      received = Buffer.concat([received, piece]);
      for (let progress = dialogue.read(received); progress.is !== 'incomplete'; progress = dialogue.read(received)) {
        if (progress.is === 'refused') {
          end(progress.fault, null);
          return;
        }
        received = received.subarray(progress.used);
        if (progress.is === 'open') {
          // A router says nothing before it is asked, so this would be the proxy's own.
          if (received.length > 0) end(toAnswerError(proxy, 'it sent more than its answer'), null);
          else end(null, carrier);
          return;
        }
        carrier.write(progress.send);
      }
      if (received.length > ANSWER_BYTES_MAX) {
        end(toAnswerError(proxy, 'its answer is too long'), null);
        return;
      }
    }
  };
  const begin = () => {
    carrier.on('readable', read);
    carrier.once('end', onEnd);
    carrier.once('close', onEnd);
    carrier.write(dialogue.greeting);
  };
  onCarrier(carrier);
  carrier.on('error', (cause) => end(toProxyError(cause, proxy), null));
  if (carrier === socket) begin();
  else carrier.once('secureConnect', begin);
}

/** Starts TLS with the proxy itself. Throws what the TLS library throws for invalid authorities. */
function encrypt(socket: Socket, proxy: RouterProxy): Socket {
  return connectTls({
    socket,
    ...toNameOptions(toProxyAddress(proxy).host),
    secureContext: openSecureContext({ caPem: proxy.caPem, certPem: undefined, keyPem: undefined }),
    ALPNProtocols: ['http/1.1'],
  });
}

function createHttpDialogue(proxy: RouterProxy, { host, port }: HostAddress): Dialogue {
  const authority = `${isIPv6(host) ? `[${host}]` : host}:${port}`;
  const { username, password } = proxy;
  const used = password?.reveal() ?? '';
  const account = Buffer.from(`${username ?? ''}:${used}`, 'utf8').toString('base64');
  const credentials = username === undefined ? '' : `Proxy-Authorization: Basic ${account}\r\n`;
  return {
    greeting: Buffer.from(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${credentials}\r\n`, 'latin1'),
    read(received) {
      let [start, end, status] = [0, 0, 100];
      // The answer comes behind interim ones.
      for (; status >= 100 && status < 200; start = end + 4) {
        end = received.indexOf('\r\n\r\n', start);
        if (end < 0) return { is: 'incomplete' };
        status = Number(/^HTTP\/1\.[01] (\d{3})(?: |\r|$)/.exec(received.toString('latin1', start, end))?.[1]);
      }
      if (Number.isNaN(status)) return { is: 'refused', fault: toAnswerError(proxy, 'it does not answer in HTTP') };
      if (status >= 200 && status < 300) return { is: 'open', used: end + 4 };
      // It may have changed on the disk; the next connection takes it.
      if (status === 407) void password?.renew(used);
      return { is: 'refused', fault: toStatusError(proxy, authority, status) };
    },
  };
}

const SOCKS = 5;
const NO_METHOD = 0;
const PASSWORD_METHOD = 2;
/** Answers to a request for a connection; the other codes have no better words. */
const SOCKS_FAULTS: Readonly<Record<number, string>> = {
  1: 'general failure',
  2: 'its rules do not allow it',
  3: 'network unreachable',
  4: 'host unreachable',
  5: 'connection refused',
  6: 'time expired',
};

/** SOCKS version 5 (RFC 1928), with user and password (RFC 1929). */
class SocksDialogue implements Dialogue {
  readonly greeting: Buffer;
  readonly #proxy: RouterProxy;
  readonly #target: HostAddress;
  #step: 'method' | 'account' | 'request' = 'method';
  #used = '';

  constructor(proxy: RouterProxy, target: HostAddress) {
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
    // A part of a name is the name of another host, which would get what is meant for the router.
    if (!isCountable(host)) {
      const fault = toAnswerError(this.#proxy, `the name of the router has more than ${COUNTED_MAX} bytes`);
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

/** Renders a host with its kind before it: an address, or a name for the proxy to resolve. */
function toSocksAddress(host: string): Buffer {
  if (isIPv4(host)) return Buffer.from([1, ...host.split('.').map(Number)]);
  if (!isIPv6(host)) return Buffer.concat([Buffer.from([3]), toCounted(host)]);
  // The form of URLs: without dots and zones.
  const [head = [], tail = []] = host.split('::').map((part) => (part === '' ? [] : part.split(':')));
  const groups = [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => '0'), ...tail];
  const bytes = groups.map((group) => Number.parseInt(group, 16)).flatMap((group) => [group >> 8, group & 0xff]);
  return Buffer.from([4, ...bytes]);
}

/** The length of a text takes one byte. */
const COUNTED_MAX = 255;

function isCountable(text: string): boolean {
  return Buffer.byteLength(text, 'utf8') <= COUNTED_MAX;
}

/** Text after its length in bytes; see {@link isCountable}. */
function toCounted(text: string): Buffer {
  const bytes = Buffer.from(text, 'utf8');
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
}

/** Returns the length of an answer to a request for a connection; `undefined` if it is not known yet. */
function measureReply(received: Buffer): number | undefined {
  const [, , , type, first] = received;
  if (type === 1) return 10;
  if (type === 4) return 22;
  return first === undefined ? undefined : 7 + first;
}

/** Returns the error for a proxy that does not lead on; `what` follows its name. */
function toFault(
  { url }: RouterProxy,
  what: string,
  hint: string,
  disposition: 'operator' | 'retry' = 'operator',
): RouterError {
  return new RouterError('connect', `The proxy ${url} ${what}`, { disposition, hint, isUnsent: true });
}

function toStatusError(proxy: RouterProxy, authority: string, status: number): RouterError {
  if (status === 407) return toAccountError(proxy, 'requires another login: it answered with 407');
  const what = `did not connect to ${authority}: it answered with ${status}`;
  return status >= 400 && status < 500
    ? toFault(proxy, what, `Check whether the proxy allows CONNECT to ${authority} from this machine`)
    : toFault(
        proxy,
        what,
        'Check host and port in the address of this router, and whether the proxy reaches it',
        'retry',
      );
}

function toRequestError(proxy: RouterProxy, { host, port }: HostAddress, code: number): RouterError {
  return toFault(
    proxy,
    `did not connect to ${host} port ${port}: ${SOCKS_FAULTS[code] ?? `code ${code}`}`,
    'Check host and port in the address of this router, and whether the proxy reaches it and allows it',
    code === 2 ? 'operator' : 'retry',
  );
}

function toAccountError(proxy: RouterProxy, what: string): RouterError {
  return toFault(proxy, what, 'Check proxy.username and proxy.password of this router');
}

function toAnswerError(proxy: RouterProxy, reason: string): RouterError {
  return toFault(proxy, `cannot be used: ${reason}`, 'Check scheme and port of proxy.url of this router');
}

function toEndError(proxy: RouterProxy): RouterError {
  const hint = 'Check scheme and port of proxy.url of this router, and the log of the proxy';
  return toFault(proxy, 'ended the connection without an answer', hint, 'retry');
}

/** Converts an error of the connection to a proxy itself. */
export function toProxyError(cause: unknown, proxy: RouterProxy): RouterError {
  if (cause instanceof RouterError) return cause;
  const fault = classifyCode(readErrorCode(cause));
  const isUntrusted = fault === 'untrusted';
  const what = fault === 'no-address' ? 'has no address' : isUntrusted ? 'is not trusted' : 'cannot be reached';
  const code = fault === 'no-address' ? 'dns' : isUntrusted ? 'tls' : 'connect';
  return new RouterError(code, `The proxy ${proxy.url} ${what}`, {
    disposition: isUntrusted ? 'operator' : 'retry',
    hint: isUntrusted
      ? 'Check proxy.ca_file of this router, and whether the certificate of the proxy has its name'
      : 'Check proxy.url of this router, and whether the proxy runs',
    cause,
    isUnsent: true,
  });
}
