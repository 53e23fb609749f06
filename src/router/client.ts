import { isPlainObject } from '../base/index.ts';
import type { ManualAction } from './api-description.ts';
import { ConfigurationCalls, decodeProfileState, type ProfileState } from './configuration.ts';
import type { ConnectionCounts, WireBytes } from './connection/connector.ts';
import type { RouterCertificate } from './connection/tls.ts';
import { completeOptions, type RouterClientOptions } from './options.ts';
import type { ConsumeDownload } from './requests/download-body.ts';
import type { Lane, TurnWork } from './requests/lanes.ts';
import { encodePath, type JsonAnswer, type RouterRequest, toNameError, toShapeError } from './requests/messages.ts';
import { Requests, type RetryAfter } from './requests/requests.ts';

/** Any call of the interface, for those without a method. */
export interface AnyCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below `/api/v2_0`, beginning with a slash, already percent-encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly json?: unknown;
}

/** A body, and its time by the router's clock. */
export interface DatedAnswer {
  /** Undecoded. */
  readonly body: unknown;
  /** The router's time from the header `Date`; `undefined` without one. Milliseconds since the Unix epoch. */
  readonly dateMs: number | undefined;
}

/** A body with a digest of its bytes; the body is `undefined` if the digest is the known one. */
interface DigestedAnswer extends DatedAnswer {
  /** SHA-256 in base64. */
  readonly digest: string | undefined;
}

/** Answer to {@link RouterClient.call}. */
interface AnyAnswer {
  readonly status: number;
  /** The decoded body; `undefined` when it is empty or no JSON. */
  readonly body: unknown;
  /** The undecoded body; empty if there is none. */
  readonly bytes: Uint8Array;
}

/**
 * Most that one download of a log's `current` may give; devices rotate it at about one MiB. A longer one ends there with an
 * error: its whole lines are kept, and the rest is read from a range, or once the file is rotated.
 */
const CURRENT_BYTES_MAX = 64 * 1024 * 1024;
const CURRENT = /(?:^|\/)current$/;
/**
 * Bound of a document that is read again and again; real ones have some KiB. To decode and to look through 40,000 short fields
 * takes some tens of milliseconds, in which nothing else is done: whatever a router answers holds up no others for longer.
 */
const DOCUMENT_BYTES_MAX = 512 * 1024;
/** Maximum number of names in a log listing: hundreds of components with hundreds of archives. */
const LOG_NAMES_MAX = 20_000;
/** Longest name in a listing; real ones are below 60 characters. */
const LOG_NAME_LENGTH_MAX = 512;
/** Maximum number of profiles read from an answer; a device stores a handful. */
const PROFILES_MAX = 1000;
/** Longest path accepted unchanged; those of the interface are below 200 characters. */
const PATH_LENGTH_MAX = 2048;
/** Signal of a caller that never aborts; requests are bounded all the same. */
const NEVER = new AbortController().signal;

/**
 * Calls of the REST interface of one router, in one of its lanes. Every method takes a signal and throws {@link RouterError}, or
 * the signal's reason.
 *
 * Source of paths, parameters and success codes: the interface document, "Endpoints".
 */
export class RouterCalls {
  /** Configuration resources: read, add, change, delete. */
  readonly configuration: ConfigurationCalls;
  readonly #requests: Requests;
  readonly #lane: Lane;

  constructor(requests: Requests, lane: Lane) {
    this.#requests = requests;
    this.#lane = lane;
    this.configuration = new ConfigurationCalls(requests, lane);
  }

  /**
   * Sends any GET that is answered with JSON; returns the whole body, undecoded. `path` is relative to the root of the
   * interface, begins with a slash, is percent-encoded already and may have a query after `?`, as in
   * `/configuration/network/networks?return_size=1`.
   */
  async readPath(path: string, signal: AbortSignal = NEVER): Promise<unknown> {
    if (!isPlainPath(path)) throw toNameError(path);
    return (await this.#ask({ method: 'GET', path, signal })).body;
  }

  /** `GET /status/<resource>`: the whole body, undecoded. `resource` is a path such as `device_info` or `sysstat/wan`. */
  async readStatus(resource: string, signal: AbortSignal = NEVER): Promise<unknown> {
    return (await this.#ask({ method: 'GET', path: `/status/${encodePath(resource)}`, signal })).body;
  }

  /**
   * {@link readStatus}, or {@link readPath} if `path` starts with a slash, with a digest of the body's bytes. A body whose
   * digest is `known` is not decoded: its `body` is `undefined`. One of more than 512 KiB is an error.
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

  /** Like {@link readStatus}, with the router's time from the header `Date`. */
  async readDatedStatus(resource: string, signal: AbortSignal = NEVER): Promise<DatedAnswer> {
    const { body, dateMs } = await this.#ask({ method: 'GET', path: `/status/${encodePath(resource)}`, signal });
    return { body, dateMs };
  }

  /** `GET /profiles`: the whole body, undecoded. */
  async readProfiles(signal: AbortSignal = NEVER): Promise<unknown> {
    return (await this.#ask({ method: 'GET', path: '/profiles', signal })).body;
  }

  /** `GET /profiles`: the stored profiles; entries without a name are left out. */
  async listProfiles(signal: AbortSignal = NEVER): Promise<readonly ProfileState[]> {
    const body = await this.readProfiles(signal);
    const profiles: unknown = isPlainObject(body) ? body['profiles'] : undefined;
    if (!Array.isArray(profiles)) throw toShapeError('GET /profiles', 'a list "profiles"');
    return profiles.slice(0, PROFILES_MAX).flatMap((profile: unknown) => decodeProfileState(profile) ?? []);
  }

  /** `GET /download/log?list_files=1`: the names as the router gave them, which are untrusted. */
  async listLogs(signal: AbortSignal = NEVER): Promise<readonly string[]> {
    const path = '/download/log';
    const { body } = await this.#ask({ method: 'GET', path, query: { list_files: '1' }, signal });
    const names: unknown = isPlainObject(body) ? body['log_files'] : undefined;
    if (!Array.isArray(names) || names.length > LOG_NAMES_MAX) {
      throw toShapeError(`GET ${path}`, 'a usable list "log_files"');
    }
    return names.filter((name): name is string => typeof name === 'string' && name.length <= LOG_NAME_LENGTH_MAX);
  }

  /** `POST /operation`: carries out one manual action on the router. It is sent once and never repeated automatically. */
  async performAction(action: ManualAction, signal: AbortSignal = NEVER): Promise<void> {
    const json = { method: 'manual_action', params: { type: action.type, options: action.options } };
    await this.#requests.ask({ method: 'POST', path: '/operation', json, lane: this.#lane, signal }, 201);
  }

  /** Sends any call of the interface. Every status but 401 is returned as an answer. */
  async call(call: AnyCall, signal: AbortSignal = NEVER): Promise<AnyAnswer> {
    const { status, body, bytes } = await this.#requests.ask({ ...call, lane: this.#lane, signal });
    return { status, body, bytes };
  }

  async #ask(request: RouterRequest): Promise<JsonAnswer> {
    const answer = await this.#requests.ask({ ...request, lane: this.#lane }, 200);
    if (answer.body === undefined) throw toShapeError(`GET ${request.path}`, 'JSON', answer.contentType);
    return answer;
  }
}

/**
 * The REST interface of one router, with session handling, in two lanes: {@link control} for what must not wait for downloads,
 * and the methods of the client itself for downloads and everything else.
 *
 * One request at a time goes to the router, in the order of asking, but those of `control` first; what is safe to repeat is
 * repeated ({@link Requests} says when). Close it to log out.
 */
export class RouterClient extends RouterCalls implements AsyncDisposable {
  /** Calls that go before downloads. Those of the work of {@link inTurn} are made here; others wait for the end of the turn. */
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

  /** Connections that were opened and trusted, and how many of them resumed a TLS session. */
  get connections(): ConnectionCounts {
    return this.#requests.transport.connector.connections;
  }

  /** The router's certificate as the last full handshake showed it; `undefined` before it and without TLS. */
  get certificate(): RouterCertificate | undefined {
    return this.#requests.transport.connector.certificate;
  }

  /**
   * Wait that the router asked for in an answer of 429 or 503; `undefined` when it is over. Calls do not
   * wait for it: callers that poll should.
   */
  get retryAfter(): RetryAfter | undefined {
    return this.#requests.retryAfter;
  }

  /** True while a turn waits for the request or the download that is under way. */
  get isTurnAwaited(): boolean {
    return this.#requests.lanes.isAwaited;
  }

  /**
   * Does work of several calls of {@link control} in a turn, which goes before everything else. A download that is under way
   * gives way if the router can send the rest of the file later. Otherwise the turn begins at its end, or before it on a second
   * connection, where the router has been seen to answer there meanwhile. If that fails, the signal of the work aborts, and the
   * work is begun again at the end of the download. The work must not wait for calls of the client itself.
   */
  inTurn<T>(signal: AbortSignal, work: TurnWork<T>): Promise<T> {
    return this.#requests.lanes.inTurn(signal, work);
  }

  /** Logs in now, unless there is a session; other calls log in when needed. Does nothing without `auth: 'token'`. */
  logIn(signal: AbortSignal = NEVER): Promise<void> {
    return this.#requests.logIn(signal);
  }

  /**
   * `GET /download/profiles`: hands a stored profile to `consume` while it arrives. `binary` (default) is the file that
   * the device can load again; `ascii` is readable text, which not every firmware offers. An unknown profile is status
   * 404. Both hold secrets of the configuration.
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
   * `GET /download/log?log_file=<name>`: hands the body to `consume` while it arrives. An unknown file is status 404.
   * With `start`, only the bytes from `start` to `last` (inclusive) or to the end are requested. `consume` gets the actual offset of the
   * body, which is 0 on a router without support for ranges, the body's entity tag and the router's time. With `unlessEtag`, a router that
   * supports entity tags answers an unchanged file with status 304.
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

  /** Passes the body of any GET to `consume` as it arrives; throws for a status other than 200. */
  download<T>(
    call: Pick<AnyCall, 'path' | 'query'>,
    consume: (body: AsyncIterable<Uint8Array>) => Promise<T>,
    signal: AbortSignal = NEVER,
  ): Promise<T> {
    return this.#requests.download({ ...call, method: 'GET', signal }, (body) => consume(body));
  }

  /**
   * No call is expected for a while. Closes a connection to a router that has repeatedly closed it before the next call; any
   * other is kept.
   */
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

/** Returns true if a URL keeps the path unchanged: no parent folder, also encoded, and no fragment. */
function isPlainPath(path: string): boolean {
  if (path.length > PATH_LENGTH_MAX || !/^\/[\x21-\x7e]*$/.test(path) || /[\\#]/.test(path)) return false;
  const [beforeQuery = ''] = path.split('?', 1);
  return !beforeQuery.split('/').some((part) => /^(\.|%2e){1,2}$/i.test(part));
}
