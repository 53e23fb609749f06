import { isPlainObject } from '../base/index.ts';
import type { ManualAction } from './api-description.ts';
import { ConfigurationCalls, decodeProfileState, type ProfileState } from './configuration-calls.ts';
import type { ConnectionCounts, WireBytes } from './connection/connector.ts';
import type { RouterCertificate } from './connection/tls.ts';
import type { ConsumeDownload } from './requests/download-body.ts';
import type { Lane, SlotWork } from './requests/lanes.ts';
import {
  type AnyCall,
  encodePath,
  type JsonAnswer,
  type RouterRequest,
  toNameError,
  toShapeError,
  type WholeAnswer,
} from './requests/messages.ts';
import { Requests, type RetryAfter } from './requests/requests.ts';
import { completeOptions, type RouterClientOptions } from './settings.ts';

/** The body of an answer and the router's time. */
export interface DatedAnswer {
  /** Parsed JSON. */
  readonly body: unknown;
  /** From the header `Date`; `undefined` without one. Milliseconds since the Unix epoch. */
  readonly dateMs: number | undefined;
}

/** `body` is `undefined` if the digest equals the known one. */
interface DigestedAnswer extends DatedAnswer {
  /** SHA-256 in base64. */
  readonly digest: string | undefined;
}

/** `body` is decoded; `undefined` if it is empty or not JSON. */
type AnyAnswer = Pick<WholeAnswer, 'status' | 'body' | 'bytes' | 'contentType' | 'dateMs'>;

/**
 * Maximum size of one download of a log's `current`; devices rotate it at about 1 MiB. A longer download ends there with an error: its
 * whole lines are kept, and the rest is read by range or after the rotation.
 */
const CURRENT_BYTES_MAX = 64 * 1024 * 1024;
const CURRENT = /(?:^|\/)current$/;
/**
 * Maximum size of a polled document; real ones have some KiB. Decoding 40,000 short fields blocks the thread for some tens of
 * milliseconds, so this bounds how long one router can delay the others.
 */
const DOCUMENT_BYTES_MAX = 512 * 1024;
/** Hundreds of components with hundreds of archives each. */
const LOG_NAMES_MAX = 20_000;
/** Real names are below 60 characters. */
const LOG_NAME_LENGTH_MAX = 512;
/** A device stores a handful of profiles. */
const PROFILES_MAX = 1000;
/** Paths of the interface are below 200 characters. */
const PATH_LENGTH_MAX = 2048;
/** Requests are bounded by their own time limits. */
const NEVER = new AbortController().signal;

/**
 * Calls of one router's REST interface, in one lane. Every method takes a signal and throws {@link RouterError} or the signal's reason.
 * Source of paths, parameters and success codes: interface document, "Endpoints".
 */
export class RouterCalls {
  readonly configuration: ConfigurationCalls;
  readonly #requests: Requests;
  readonly #lane: Lane;

  constructor(requests: Requests, lane: Lane) {
    this.#requests = requests;
    this.#lane = lane;
    this.configuration = new ConfigurationCalls(requests, lane);
  }

  /**
   * Sends a GET that is answered with JSON; returns the parsed body. `path` is relative to the root of the interface, begins with a
   * slash, is already percent-encoded and may have a query, as in `/configuration/network/networks?return_size=1`.
   */
  async readPath(path: string, signal: AbortSignal = NEVER): Promise<unknown> {
    if (!isPlainPath(path)) throw toNameError(path);
    return (await this.#ask({ method: 'GET', path, signal })).body;
  }

  /** `GET /status/<resource>`: returns the parsed JSON body. `resource`: a path such as `device_info` or `sysstat/wan`. */
  async readStatus(resource: string, signal: AbortSignal = NEVER): Promise<unknown> {
    return (await this.#ask({ method: 'GET', path: `/status/${encodePath(resource)}`, signal })).body;
  }

  /**
   * {@link readStatus}, or {@link readPath} if `path` starts with a slash, with a digest of the body. A body whose digest is `known` is
   * not decoded: `body` is `undefined`. A body of more than 512 KiB is an error.
   */
  async readDocument(path: string, signal: AbortSignal = NEVER, known = ''): Promise<DigestedAnswer> {
    if (path.startsWith('/') && !isPlainPath(path)) throw toNameError(path);
    const call = { method: 'GET', path: path.startsWith('/') ? path : `/status/${encodePath(path)}` } as const;
    const { body, digest, dateMs, contentType } = await this.#requests.ask(
      { ...call, lane: this.#lane, signal, knownDigest: known, bytesMax: DOCUMENT_BYTES_MAX },
      200,
    );
    if (body === undefined && digest !== known) throw toShapeError(`GET ${call.path}`, 'JSON', contentType);
    return { body, digest, dateMs };
  }

  /** {@link readStatus} with the router's time. */
  async readDatedStatus(resource: string, signal: AbortSignal = NEVER): Promise<DatedAnswer> {
    const { body, dateMs } = await this.#ask({ method: 'GET', path: `/status/${encodePath(resource)}`, signal });
    return { body, dateMs };
  }

  /** `GET /profiles`: returns the parsed JSON body. */
  async readProfiles(signal: AbortSignal = NEVER): Promise<unknown> {
    return (await this.#ask({ method: 'GET', path: '/profiles', signal })).body;
  }

  /** `GET /profiles`: returns the stored profiles; entries without a name are left out. */
  async listProfiles(signal: AbortSignal = NEVER): Promise<readonly ProfileState[]> {
    const body = await this.readProfiles(signal);
    const profiles: unknown = isPlainObject(body) ? body['profiles'] : undefined;
    if (!Array.isArray(profiles)) throw toShapeError('GET /profiles', 'a list "profiles"');
    return profiles.slice(0, PROFILES_MAX).flatMap((profile: unknown) => decodeProfileState(profile) ?? []);
  }

  /** `GET /download/log?list_files=1`: returns the names as the router sent them. They are untrusted. */
  async listLogs(signal: AbortSignal = NEVER): Promise<readonly string[]> {
    const path = '/download/log';
    const { body } = await this.#ask({ method: 'GET', path, query: { list_files: '1' }, signal });
    const names: unknown = isPlainObject(body) ? body['log_files'] : undefined;
    if (!Array.isArray(names) || names.length > LOG_NAMES_MAX) {
      throw toShapeError(`GET ${path}`, 'a usable list "log_files"');
    }
    return names.filter((name): name is string => typeof name === 'string' && name.length <= LOG_NAME_LENGTH_MAX);
  }

  /** `POST /operation`: starts one manual action on the router. Sent once, never retried. */
  async performAction(action: ManualAction, signal: AbortSignal = NEVER): Promise<void> {
    const json = { method: 'manual_action', params: { type: action.type, options: action.options } };
    await this.#requests.ask({ method: 'POST', path: '/operation', json, lane: this.#lane, signal }, 201);
  }

  /** Sends any call of the interface. Returns the answer for every status but 401. */
  async call(call: AnyCall, signal: AbortSignal = NEVER): Promise<AnyAnswer> {
    return await this.#requests.ask({ ...call, lane: this.#lane, signal });
  }

  async #ask(request: RouterRequest): Promise<JsonAnswer> {
    const answer = await this.#requests.ask({ ...request, lane: this.#lane }, 200);
    if (answer.body === undefined) throw toShapeError(`GET ${request.path}`, 'JSON', answer.contentType);
    return answer;
  }
}

/**
 * The REST interface of one router with session handling, in two lanes: {@link control} for calls that must not wait for downloads, and
 * the methods of the client itself for downloads and everything else.
 *
 * Sends one request at a time, in the order of the calls, `control` first. Retries what is safe to repeat ({@link Requests} says when).
 * Close it to log out.
 */
export class RouterClient extends RouterCalls implements AsyncDisposable {
  /** Calls with priority over downloads. The work of {@link runInSlot} makes its calls here; other calls wait for the end of the slot. */
  readonly control: RouterCalls;
  readonly #requests: Requests;

  constructor(options: RouterClientOptions) {
    const requests = new Requests(completeOptions(options));
    super(requests, 'bulk');
    this.control = new RouterCalls(requests, 'control');
    this.#requests = requests;
  }

  /** Bytes of all connections so far, failed and open ones and TLS included; never decreases. */
  get wireBytes(): WireBytes {
    return this.#requests.transport.connector.wireBytes;
  }

  /** Number of connections that were opened and trusted, and of those that resumed a TLS session. */
  get connections(): ConnectionCounts {
    return this.#requests.transport.connector.connections;
  }

  /** The router's certificate from the last full handshake; `undefined` before it and without TLS. */
  get certificate(): RouterCertificate | undefined {
    return this.#requests.transport.connector.certificate;
  }

  /** Wait that the router requested with 429 or 503; `undefined` when it is over. Does not delay calls: callers should wait. */
  get retryAfter(): RetryAfter | undefined {
    return this.#requests.retryAfter;
  }

  /** True while a slot waits for the request or the download in progress. */
  get isSlotAwaited(): boolean {
    return this.#requests.lanes.isAwaited;
  }

  /**
   * Runs `work`, several calls of {@link control}, in a slot: nothing else uses the connection meanwhile. A download in progress is
   * suspended if the router can send the rest of the file later. Otherwise the slot starts when the download ends, or earlier on a second
   * connection if the router is known to answer there. If the second connection fails, the signal of `work` aborts and `work` is started
   * again after the download. `work` must not wait for calls of the client itself.
   */
  runInSlot<T>(signal: AbortSignal, work: SlotWork<T>): Promise<T> {
    return this.#requests.lanes.runInSlot(signal, work);
  }

  /** Logs in unless there is a session; other calls log in when needed. Does nothing without `auth: 'token'`. */
  logIn(signal: AbortSignal = NEVER): Promise<void> {
    return this.#requests.logIn(signal);
  }

  /**
   * `GET /download/profiles`: streams a stored profile to `consume`. `binary` (default): the file that the device can load again;
   * `ascii`: readable text, which not every firmware offers. Both contain secrets of the configuration. An unknown profile is status 404.
   */
  downloadProfile<T>(
    name: string,
    options: { readonly format?: 'binary' | 'ascii' },
    consume: (body: AsyncIterable<Uint8Array>) => Promise<T>,
    signal: AbortSignal = NEVER,
  ): Promise<T> {
    const query = { profile: name, ...(options.format && { format: options.format }) };
    return this.#requests.download({ method: 'GET', path: '/download/profiles', query, signal }, (body) =>
      consume(body),
    );
  }

  /**
   * `GET /download/log?log_file=<name>`: streams the body to `consume`. With `start`, requests only the bytes from `start` to `last`
   * (inclusive) or to the end; `consume` gets the actual offset, which is 0 if the router does not support ranges. With `unlessEtag`, a
   * router that supports entity tags answers an unchanged file with status 304. An unknown file is status 404.
   */
  readLog<T>(
    name: string,
    signal: AbortSignal,
    consume: ConsumeDownload<T>,
    options: {
      readonly start?: number | undefined;
      readonly last?: number | undefined;
      readonly unlessEtag?: string | undefined;
    } = {},
  ): Promise<T> {
    const query = { log_file: name };
    const { start: rangeStart, last: rangeLast, unlessEtag } = options;
    const bytesMax = CURRENT.test(name) ? CURRENT_BYTES_MAX : undefined;
    return this.#requests.download(
      { method: 'GET', path: '/download/log', query, signal, rangeStart, rangeLast, unlessEtag, bytesMax },
      consume,
    );
  }

  /** Streams the body of any GET to `consume`; throws for a status other than 200. */
  download<T>(
    call: Pick<AnyCall, 'path' | 'query'>,
    consume: (body: AsyncIterable<Uint8Array>) => Promise<T>,
    signal: AbortSignal = NEVER,
  ): Promise<T> {
    return this.#requests.download({ ...call, method: 'GET', signal }, (body) => consume(body));
  }

  /** Notifies the client that no call is expected soon: closes a connection that the router usually closes before the next call. */
  rest(): void {
    this.#requests.transport.rest();
  }

  /** Logs out and closes the connection; bounded by `signal`. */
  close(signal: AbortSignal = NEVER): Promise<void> {
    return this.#requests.close(signal);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Paths that URL parsing keeps unchanged: no parent folder, also encoded, and no fragment. */
function isPlainPath(path: string): boolean {
  if (path.length > PATH_LENGTH_MAX || !/^\/[\x21-\x7e]*$/.test(path) || /[\\#]/.test(path)) return false;
  const [beforeQuery = ''] = path.split('?', 1);
  return !beforeQuery.split('/').some((part) => /^(\.|%2e){1,2}$/i.test(part));
}
