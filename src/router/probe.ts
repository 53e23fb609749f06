import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { type Clock, openDeadline, untilAborted } from '../base/index.ts';
import { explainTls, toAddress, toNameOptions } from '../net/index.ts';
import {
  type RouterWay,
  toConnectError,
  toConnectTimeoutMs,
  toSourceError,
  toTcpOptions,
  toTimeoutError,
} from './connection/connection-attempt.ts';
import { type WireBytes, WireMeter } from './connection/connector.ts';
import { leadThrough, type RouterProxy, toProxyAddress, toProxyError } from './connection/proxy.ts';
import {
  decodeShownCertificate,
  judgeTrust,
  openTrustedContext,
  type RouterTls,
  type ShownCertificate,
} from './connection/trust.ts';
import { RouterError, toRouterError } from './errors.ts';

/** Address and limits of one probe. */
export interface RouterProbeOptions extends RouterWay {
  /** Scheme, host and port; the rest is ignored. */
  readonly url: string;
  /** TLS settings for `https` URLs. Default: the authorities of the system and of Node.js. */
  readonly tls?: RouterTls | undefined;
  /** Limit of each step except {@link RouterProbe.connect}. Milliseconds. */
  readonly timeoutMs: number;
  /** Limit of {@link RouterProbe.connect}. Milliseconds, default 5,000; never more than `timeoutMs`. */
  readonly connectTimeoutMs?: number | undefined;
  /** Clock for time limits and durations. */
  readonly clock: Clock;
}

/** Result of a handshake. */
export interface TlsFinding {
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
    const connectTimeoutMs = toConnectTimeoutMs(this.#options.connectTimeoutMs, timeoutMs);
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
