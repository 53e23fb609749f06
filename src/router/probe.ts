import type { X509Certificate } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { type Clock, openDeadline, untilAborted } from '../base/index.ts';
import { explainTls, isAuthorityNeeded, type TlsFailure, toAddress, toNameOptions } from '../net/index.ts';
import { toConnectError, toSourceError, toTcpOptions, toTimeoutError } from './connection/connection-attempt.ts';
import { type WireBytes, WireMeter } from './connection/connector.ts';
import { leadThrough, type RouterProxy, toProxyAddress, toProxyError } from './connection/proxy.ts';
import { decodeCertificate, findTrustFault, openTrustedContext, type RouterCertificate } from './connection/tls.ts';
import { RouterError, toRouterError, toTlsError } from './errors.ts';
import { type RouterTls, type RouterWay, toConnectTimeoutMs } from './options.ts';

/** Address and limits of one probe; of the URL, scheme, host and port count. */
export interface RouterProbeOptions extends RouterWay {
  /** Limit of each step except {@link RouterProbe.connect}, which has its own. Milliseconds. */
  readonly timeoutMs: number;
  /** Clock for time limits and durations. */
  readonly clock: Clock;
}

/** A certificate as the router sent it, trusted or not. The texts are bounded and have no control characters. */
export interface ShownCertificate extends RouterCertificate {
  /** Such as `CN=plant-7, O=Insys`. */
  readonly subject: string;
  readonly issuer: string;
  /** Host names and addresses that it is for; without addresses that stand as host names, which no client takes. */
  readonly names: readonly string[];
}

/** Result of a handshake. */
interface TlsFinding {
  /** Such as `TLSv1.3`. */
  readonly protocol: string;
  readonly certificate: ShownCertificate | undefined;
  /** Reason why the product would end the connection here; `undefined` if it would not. */
  readonly fault: RouterError | undefined;
}

/**
 * Connects to a router step by step, to show the step that fails: name, TCP, TLS. It sends nothing but the handshake,
 * and verifies a certificate as {@link RouterClient} does, but also reports the content of an untrusted one. Each step throws
 * {@link RouterError}, or the signal's reason. Close it to end the connection.
 */
export class RouterProbe {
  readonly #options: RouterProbeOptions;
  readonly #url: URL;
  readonly #meter = new WireMeter();
  #socket: Socket | undefined;

  constructor(options: RouterProbeOptions) {
    this.#options = options;
    this.#url = new URL(options.url);
  }

  /** Bytes of its own connection; name resolution is not counted. */
  get wireBytes(): WireBytes {
    return this.#meter.read();
  }

  get isTls(): boolean {
    return this.#url.protocol === 'https:';
  }

  /**
   * Resolves the host to addresses in the order in which they are tried; to itself if it is an address. With a proxy, that of
   * the proxy, which resolves the name of the router itself.
   */
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

  /**
   * Opens the TCP connection; resolves with the address that accepted it, as in `192.0.2.10` and `443`: with a proxy, that of
   * the proxy, which has connected to the router then.
   */
  async connect(signal: AbortSignal): Promise<{ readonly address: string; readonly port: number }> {
    const { timeoutMs, clock } = this.#options;
    const connectTimeoutMs = toConnectTimeoutMs(this.#options, timeoutMs);
    const { proxy, sourceAddress } = this.#options;
    const { host, port } = proxy ? toProxyAddress(proxy) : this.#address;
    const target = { hostname: host };
    using deadline = openDeadline(clock, connectTimeoutMs, signal);
    const socket = connectTcp(toTcpOptions({ host, port }, connectTimeoutMs, sourceAddress));
    this.#socket = socket;
    this.#meter.watch(socket);
    // The caller that waits for the socket gets its errors; later ones do not matter.
    socket.on('error', () => {});
    try {
      await once(socket, 'connect', { signal: deadline.signal });
      if (proxy) await untilAborted(this.#lead(socket, proxy), deadline.signal);
    } catch (cause) {
      signal.throwIfAborted();
      if (cause instanceof RouterError) throw cause;
      if (!deadline.signal.aborted) {
        const fault = toSourceError(cause, sourceAddress) ?? (proxy && toProxyError(cause, proxy));
        if (fault) throw fault;
      }
      const error = deadline.signal.aborted ? toTimeoutError(target, connectTimeoutMs) : cause;
      const reason = error instanceof Error ? toConnectError(error, target, connectTimeoutMs) : error;
      throw toRouterError(reason, `TCP to ${host} port ${port}`);
    }
    return { address: socket.remoteAddress ?? host, port };
  }

  /** Has the proxy connect to the router. */
  #lead(socket: Socket, proxy: RouterProxy): Promise<void> {
    return new Promise((resolve, reject) => {
      leadThrough({
        socket,
        proxy,
        target: this.#address,
        onCarrier: (carrier) => {
          this.#socket = carrier;
        },
        settle: (...[error]) => (error ? reject(error) : resolve()),
      });
    });
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
      const what = `What answers at ${host} port ${port} does not complete a TLS handshake`;
      throw new RouterError('tls', failure ? `${what}: ${failure.reason}` : what, {
        disposition: 'operator',
        hint: failure?.hint ?? 'Check scheme and port in the url of this router',
        cause: failure ? undefined : cause,
        isUnsent: true,
      });
    }
  }

  /** Runs a step with a time limit, and converts its errors to {@link RouterError}. */
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

/** Limits for the texts of a certificate and the number of its names. */
const TEXT_LENGTH_MAX = 200;
const NAMES_MAX = 20;

/** Describes a certificate; `undefined` if there is none or it cannot be read. */
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

/** Cleans a distinguished name, whose parts are on separate lines. */
function clean(text: string | undefined): string {
  const line = (text ?? '').trim().replaceAll('\n', ', ');
  return line.replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' ').slice(0, TEXT_LENGTH_MAX);
}

/**
 * Returns the reason why the client would reject the certificate of this connection; `undefined` if it would accept it. The
 * connection was opened with `rejectUnauthorized: false` and otherwise like the client's own.
 */
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

/** Returns the error of the check of the certificate: it alone says what is weak. */
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

/** Name of the check in errors that are not about the certificate. */
const CHECK = 'The check of the certificate';
const UNTRUSTED = { disposition: 'operator', isUnsent: true } as const;

/** `undefined` if there is no name that tls.server_name could be: an address counts only where it stands as one. */
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
  if (fingerprintSha256 !== undefined) return `${authority}, or leave tls.ca_file away: the fingerprint is enough`;
  return `${authority}, ${instead} trust this one: ${renderPin(shown)}`;
}
