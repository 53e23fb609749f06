import type { X509Certificate } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { type Clock, openDeadline, untilAborted } from '../base/index.ts';
import {
  connectThroughProxy,
  explainTls,
  isAuthorityNeeded,
  ProxyError,
  type TlsFailure,
  toAddress,
  toNameOptions,
  toProxyAddress,
} from '../net/index.ts';
import { toDialError, toTcpOptions, toTimeoutError } from './connection/connection-attempt.ts';
import { type WireBytes, WireMeter } from './connection/connector.ts';
import { decodeCertificate, findTrustFault, openTrustedContext, type RouterCertificate } from './connection/tls.ts';
import { RouterError, toRouterError, toTlsError } from './errors.ts';
import { type RouterEndpoint, type RouterTls, toConnectTimeoutMs } from './settings.ts';

/** Address and limits of one check; only scheme, host and port of the URL are used. */
export interface ConnectionCheckOptions extends RouterEndpoint {
  /** Limit of each step except {@link ConnectionCheck.connect}, which has its own. Milliseconds. */
  readonly timeoutMs: number;
  /** Clock of the limits and durations. */
  readonly clock: Clock;
}

/** A certificate as the router sent it, trusted or not. The strings are bounded and have no control characters. */
export interface ShownCertificate extends RouterCertificate {
  /** Such as `CN=plant-7, O=Insys`. */
  readonly subject: string;
  readonly issuer: string;
  /** Host names and addresses of the certificate. Addresses listed as host names are left out: no client accepts them. */
  readonly names: readonly string[];
}

interface TlsFinding {
  /** Such as `TLSv1.3`. */
  readonly protocol: string;
  readonly certificate: ShownCertificate | undefined;
  /** Reason for which {@link RouterClient} would reject the connection; `undefined` if it would accept it. */
  readonly fault: RouterError | undefined;
}

/**
 * Connects to a router step by step (name, TCP, TLS) to show which step fails. Sends nothing but the handshakes. Verifies the certificate
 * like {@link RouterClient}, but also reports the content of an untrusted one. Each step throws {@link RouterError} or the signal's
 * reason. Close it to end the connection.
 */
export class ConnectionCheck {
  readonly #options: ConnectionCheckOptions;
  readonly #url: URL;
  readonly #meter = new WireMeter();
  #socket: Socket | undefined;

  constructor(options: ConnectionCheckOptions) {
    this.#options = options;
    this.#url = new URL(options.url);
  }

  /** Bytes of this connection; name resolution is not counted. */
  get wireBytes(): WireBytes {
    return this.#meter.read();
  }

  get isTls(): boolean {
    return this.#url.protocol === 'https:';
  }

  /** Resolves the host, or that of the proxy, to addresses in the order in which they are tried. */
  async resolve(signal: AbortSignal): Promise<readonly string[]> {
    const { proxy, sourceAddress } = this.#options;
    const { host } = proxy ? toProxyAddress(proxy) : this.#address;
    if (isIP(host) !== 0) return [host];
    const name = proxy ? `The name of the proxy, ${host},` : `The name ${host}`;
    return this.#bound(name, signal, async (limit) => {
      const family = sourceAddress === undefined ? 0 : isIP(sourceAddress);
      const found = await untilAborted(lookup(host, { all: true, family }), limit);
      return found.map(({ address }) => address);
    });
  }

  /** Opens the TCP connection, through the proxy if configured; resolves with the address and port that accepted it. */
  async connect(signal: AbortSignal): Promise<{ readonly address: string; readonly port: number }> {
    const { timeoutMs, clock } = this.#options;
    const connectTimeoutMs = toConnectTimeoutMs(this.#options, timeoutMs);
    const { proxy, sourceAddress } = this.#options;
    const { host, port } = proxy ? toProxyAddress(proxy) : this.#address;
    using deadline = openDeadline(clock, connectTimeoutMs, signal);
    const socket = connectTcp(toTcpOptions({ host, port }, connectTimeoutMs, sourceAddress));
    this.#socket = socket;
    this.#meter.watch(socket);
    // The caller that awaits the socket gets its errors; later ones do not matter.
    socket.on('error', () => {});
    try {
      await once(socket, 'connect', { signal: deadline.signal });
      const target = this.#address;
      if (proxy) this.#socket = await untilAborted(connectThroughProxy(socket, proxy, target), deadline.signal);
    } catch (cause) {
      signal.throwIfAborted();
      if (cause instanceof ProxyError) throw toRouterError(cause, 'The proxy');
      const isOver = deadline.signal.aborted || !(cause instanceof Error);
      const error = isOver
        ? toTimeoutError(host, connectTimeoutMs)
        : toDialError(cause, host, connectTimeoutMs, this.#options);
      throw toRouterError(error, `TCP to ${host} port ${port}`);
    }
    return { address: socket.remoteAddress ?? host, port };
  }

  /** Performs the TLS handshake. An untrusted certificate is a finding, not an error. */
  async secure(signal: AbortSignal): Promise<TlsFinding> {
    const { tls = {} } = this.#options;
    const { host, port } = this.#address;
    return this.#bound(`TLS to ${host} port ${port}`, signal, async (limit) => {
      const socket = await this.#shakeHands(tls, limit);
      const certificate = socket.getPeerX509Certificate();
      return {
        protocol: socket.getProtocol() ?? 'TLS',
        certificate: decodeShownCertificate(certificate),
        fault: judgeTrust(socket, tls, certificate),
      };
    });
  }

  /** Ends the connection at once. */
  close(): void {
    this.#socket?.destroy();
  }

  get #address(): { readonly host: string; readonly port: number } {
    const { hostname, port, protocol } = this.#url;
    return toAddress({ hostname, port, protocol });
  }

  async #shakeHands(tls: RouterTls, signal: AbortSignal): Promise<TLSSocket> {
    const name = tls.serverName ?? this.#address.host;
    const socket = connectTls({
      ...(this.#socket && { socket: this.#socket }),
      ...toNameOptions(name),
      secureContext: openTrustedContext(tls),
      // The certificate is only examined; nothing is sent over this connection.
      rejectUnauthorized: false,
      ALPNProtocols: ['http/1.1'],
    });
    this.#socket = socket;
    socket.on('error', () => {});
    try {
      await once(socket, 'secureConnect', { signal });
      return socket;
    } catch (cause) {
      signal.throwIfAborted();
      const { host, port } = this.#address;
      const failure = explainTls(cause, 'router');
      const what = `The server at ${host} port ${port} does not complete a TLS handshake`;
      throw new RouterError('tls', failure ? `${what}: ${failure.reason}` : what, {
        disposition: 'operator',
        hint: failure?.hint ?? 'Check scheme and port in the url of this router',
        cause: failure ? undefined : cause,
        isUnsent: true,
      });
    }
  }

  async #bound<T>(what: string, signal: AbortSignal, step: (limit: AbortSignal) => Promise<T>): Promise<T> {
    using deadline = openDeadline(this.#options.clock, this.#options.timeoutMs, signal);
    try {
      return await step(deadline.signal);
    } catch (cause) {
      signal.throwIfAborted();
      throw toRouterError(deadline.signal.aborted ? deadline.signal.reason : cause, what);
    }
  }
}

/** Bounds of the strings of a certificate and of the number of its names. */
const TEXT_LENGTH_MAX = 200;
const NAMES_MAX = 20;

function decodeShownCertificate(certificate: X509Certificate | undefined): ShownCertificate | undefined {
  const known = decodeCertificate(certificate);
  if (!certificate || !known) return undefined;
  const names = (certificate.subjectAltName ?? '').split(', ').slice(0, NAMES_MAX);
  return {
    ...known,
    subject: clean(certificate.subject),
    issuer: clean(certificate.issuer),
    names: names.flatMap((entry) => {
      const [, type, value] = /^(DNS|IP Address):(.+)$/.exec(entry) ?? [];
      const name = clean(value);
      return name === '' || (type === 'DNS' && isIP(name) !== 0) ? [] : [name];
    }),
  };
}

/** The parts of a distinguished name are on separate lines. */
function clean(text: string | undefined): string {
  const line = (text ?? '').trim().replaceAll('\n', ', ');
  return line.replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' ').slice(0, TEXT_LENGTH_MAX);
}

/** The connection was opened with `rejectUnauthorized: false` and otherwise like the client's own. */
function judgeTrust(
  socket: TLSSocket,
  tls: RouterTls,
  certificate: X509Certificate | undefined,
): RouterError | undefined {
  const isOtherOne = findTrustFault(tls, certificate);
  if (isOtherOne || !isAuthorityNeeded(tls) || socket.authorized) return isOtherOne;
  // Declared as an Error, but it is an error code.
  const code = String(socket.authorizationError);
  const failure = explainTls(readVerifyError(socket) ?? Object.assign(new Error(code), { code }), 'router');
  const shown = decodeShownCertificate(certificate);
  if (!failure) return new RouterError('tls', `The router's certificate is not trusted: ${code}`, UNTRUSTED);
  return toTlsError({ ...failure, hint: renderHint(failure, tls, shown) }, CHECK);
}

/** Only the verification error of the native handle says which property is too weak. */
function readVerifyError(socket: TLSSocket): unknown {
  const handle: unknown = Reflect.get(socket, '_handle');
  const read: unknown = typeof handle === 'object' && handle !== null && Reflect.get(handle, 'verifyError');
  const error: unknown = typeof read === 'function' ? Reflect.apply(read, handle, []) : undefined;
  return error ?? undefined;
}

function renderHint({ cure, hint }: TlsFailure, tls: RouterTls, shown: ShownCertificate | undefined): string {
  if (!shown) return hint;
  const pin = `${tls.caPem === undefined ? '' : 'without tls.ca_file, '}trust this one alone: ${renderPin(shown)}`;
  switch (cure) {
    case 'name':
      return renderNameHint(shown) ?? `It has no name that tls.server_name could be, so ${pin}`;
    case 'authority':
      return renderTrustHint(tls, shown);
    case 'renewal':
      return tls.caPem === undefined ? `${hint}. Until then, ${pin}` : hint;
    case 'strength':
      return `${hint}: ${renderPin(shown)}`;
    case undefined:
      return hint;
  }
}

function renderPin({ fingerprintSha256 }: ShownCertificate): string {
  return `tls: { fingerprint_sha256: "${fingerprintSha256}" }. Compare it first with the device`;
}

const CHECK = 'The check of the certificate';
const UNTRUSTED = { disposition: 'operator', isUnsent: true } as const;

/** An address counts only as an address entry, not as a host name. */
function renderNameHint({ names, subject }: ShownCertificate): string | undefined {
  if (names.length > 0) return `Put one of its names into tls.server_name of this router: ${names.join(', ')}`;
  const name = /(?:^|, )CN=([^,]+)/.exec(subject)?.[1];
  if (name === undefined || isIP(name) !== 0) return undefined;
  return `Put its name into tls.server_name of this router: ${name}`;
}

function renderTrustHint({ caPem, fingerprintSha256 }: RouterTls, shown: ShownCertificate): string {
  const authority = 'Put the certificate of its authority into the file of tls.ca_file';
  // With tls.ca_file an authority must sign the certificate even if the fingerprint is pinned.
  const instead = caPem === undefined ? 'or' : 'or, without tls.ca_file,';
  if (fingerprintSha256 !== undefined) return `${authority}, or remove tls.ca_file: the fingerprint is enough`;
  return `${authority}, ${instead} trust this one: ${renderPin(shown)}`;
}
