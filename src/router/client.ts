import { type Clock, Mutex, type Secret } from '../base/index.ts';
import { RouterError } from './errors.ts';
import { Session, type SessionEvent } from './session.ts';
import { type JsonAnswer, type RouterTls, Transport, type TransportRequest } from './transport.ts';

export interface RouterClientOptions {
  /** Scheme, host, port and optional path prefix, as in `https://192.0.2.10`. */
  readonly url: string;
  readonly username: string;
  readonly password: Secret;
  readonly tls?: RouterTls | undefined;
  /** One request and its answer; for a download the time until the next bytes arrive. Milliseconds. */
  readonly requestTimeoutMs: number;
  readonly clock: Clock;
  readonly report: (event: SessionEvent) => void;
}

/** Most names that a log listing may hold: hundreds of components with hundreds of archives are already absurd. */
const LOG_NAMES_MAX = 20_000;
/** Longest name in a listing; real ones are below 60 characters. */
const LOG_NAME_LENGTH_MAX = 512;
/** How much of a router's own words goes into an error message. */
const WORDS_LENGTH_MAX = 200;

/**
 * The calls of the REST interface that the agent makes, with session handling.
 *
 * One request at a time goes to the router, in the order of asking. A request that is answered with 401 is repeated
 * once after a new login; a read that lost its kept connection is repeated once on a new one. Every call takes a signal
 * and throws {@link RouterError}, or the signal's reason.
 */
export class RouterClient {
  readonly #transport: Transport;
  readonly #session: Session;
  readonly #turn = new Mutex();

  constructor(options: RouterClientOptions) {
    this.#transport = new Transport(options);
    this.#session = new Session({
      ...options,
      ask: (request, signal) => this.#transport.askJson({ ...request, signal }),
    });
  }

  /** `GET /status/<resource>`: the whole body, undecoded. `resource` is a path such as `device_info`. */
  readStatus(resource: string, signal: AbortSignal): Promise<unknown> {
    return this.#readJson({ method: 'GET', path: `/status/${encodePath(resource)}`, signal });
  }

  /** `GET /profiles`: the whole body, undecoded. */
  readProfiles(signal: AbortSignal): Promise<unknown> {
    return this.#readJson({ method: 'GET', path: '/profiles', signal });
  }

  /** `GET /download/log?list_files=1`: the names as the router gave them, which are untrusted. */
  async listLogs(signal: AbortSignal): Promise<readonly string[]> {
    const path = '/download/log';
    const body = await this.#readJson({ method: 'GET', path, query: { list_files: '1' }, signal });
    const names: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'log_files') : undefined;
    if (!Array.isArray(names) || names.length > LOG_NAMES_MAX) {
      throw new RouterError('parse', `GET ${path} answered without a usable list "log_files"`, {
        disposition: 'skip',
        isAnswered: true,
      });
    }
    return names.filter((name): name is string => typeof name === 'string' && name.length <= LOG_NAME_LENGTH_MAX);
  }

  /** `GET /download/log?log_file=<name>`: hands the body to `consume` while it arrives. An unknown file is status 404. */
  readLog<T>(name: string, signal: AbortSignal, consume: (body: AsyncIterable<Uint8Array>) => Promise<T>): Promise<T> {
    const request: TransportRequest = { method: 'GET', path: '/download/log', query: { log_file: name }, signal };
    let isStarted = false;
    const consumeOnce = (body: AsyncIterable<Uint8Array>) => {
      isStarted = true;
      return consume(body);
    };
    return this.#authorised(
      request,
      (authorised) =>
        this.#transport.download(authorised, consumeOnce, (answer) => {
          throw toAnswerError(answer, authorised);
        }),
      // What has been handed out cannot be taken back: from then on going on is the caller's business.
      () => !isStarted,
    );
  }

  /** Logs out and closes the connection; bounded by `signal`. */
  async close(signal: AbortSignal): Promise<void> {
    try {
      await this.#turn.run(() => this.#session.close(signal), signal);
    } finally {
      await this.#transport.close();
    }
  }

  #readJson(request: TransportRequest): Promise<unknown> {
    return this.#authorised(request, async (authorised) => {
      const answer = await this.#transport.askJson(authorised);
      if (answer.status !== 200) throw toAnswerError(answer, authorised);
      if (answer.body === undefined) {
        throw new RouterError('parse', `${request.method} ${request.path} did not answer with JSON`, {
          disposition: 'skip',
          status: answer.status,
          isAnswered: true,
        });
      }
      return answer.body;
    });
  }

  /** Runs `attempt` with a token in the router's turn, and once more if that helps and `isRepeatable` still holds. */
  #authorised<T>(
    request: TransportRequest,
    attempt: (request: TransportRequest) => Promise<T>,
    isRepeatable = () => true,
  ): Promise<T> {
    const { signal } = request;
    return this.#turn.run(async () => {
      const token = await this.#session.token(signal);
      try {
        return await attempt({ ...request, token });
      } catch (cause) {
        if (!(cause instanceof RouterError) || signal.aborted || !isRepeatable()) throw cause;
        if (cause.disposition === 'login-again') this.#session.lost(token, cause);
        else if (!isStaleConnection(cause)) throw cause;
      }
      return attempt({ ...request, token: await this.#session.token(signal) });
    }, signal);
  }
}

/** A router may close a kept connection at the very moment at which it is used again. */
function isStaleConnection(cause: RouterError): boolean {
  return cause.code === 'connect' && !cause.isUnsent;
}

function encodePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}

function toAnswerError(answer: JsonAnswer, request: TransportRequest): RouterError {
  const { status } = answer;
  const what = `${request.method} ${request.path} was answered with ${status}${renderWords(answer.body)}`;
  if (status === 401) return new RouterError('auth', what, { disposition: 'login-again', status });
  if (status === 403) {
    const hint = 'The group of the account does not permit this; see the rights of its user on the router';
    return new RouterError('auth', what, { disposition: 'operator', status, hint, isAnswered: true });
  }
  return new RouterError('http', what, { disposition: status === 404 ? 'skip' : 'retry', status, isAnswered: true });
}

/** The words of an error body, which is `{"error": [{"<key>": "<text>"}]}`; nothing when it has another shape. */
function renderWords(body: unknown): string {
  const errors: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'error') : undefined;
  const first: unknown = Array.isArray(errors) ? errors[0] : undefined;
  if (typeof first !== 'object' || first === null) return '';
  const [entry] = Object.entries(first);
  if (!entry || typeof entry[1] !== 'string') return '';
  const words = `${entry[0]}: ${entry[1]}`.replaceAll(/\p{Cc}+/gu, ' ').slice(0, WORDS_LENGTH_MAX);
  return ` (${words})`;
}
