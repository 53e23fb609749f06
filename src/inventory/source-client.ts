import type { Clock } from '../base/index.ts';
import { ContentCodingError, createConnector, createOneConnectionAgent, requestBounded } from '../net/index.ts';
import { CONFIG_FILE_BYTES_MAX, revealTls } from '../settings/index.ts';
import { failReading, InventoryError } from './errors.ts';
import type { RequestSettings } from './settings.ts';

/** An answer of the server; `undefined`: the list is the same as the one that `validators` belong to. */
export interface SourceAnswer {
  readonly text: string;
  readonly validators: Validators;
}

/** Validators for a conditional request. */
export interface Validators {
  readonly etag?: string | undefined;
  readonly lastModified?: string | undefined;
}

const OK = 200;
const NOT_MODIFIED = 304;
/** Longer ones are not sent back. */
const VALIDATOR_CHARS_MAX = 1024;
/** From one page of a list to the next. */
const KEEP_ALIVE_MS = 10_000;
/** All headers of an answer. Bytes. */
const HEADER_BYTES_MAX = 16 * 1024;

/** Requests to the server of one source. Redirects are not followed: they could lead to a server that nobody named. */
export class SourceClient implements AsyncDisposable {
  readonly #settings: RequestSettings;
  readonly #agent: ReturnType<typeof createOneConnectionAgent>;

  constructor(settings: RequestSettings, clock: Clock) {
    this.#settings = settings;
    this.#agent = createOneConnectionAgent({
      keepAliveMs: KEEP_ALIVE_MS,
      headerBytesMax: HEADER_BYTES_MAX,
      connect: createConnector(clock, revealTls(settings.tls)),
    });
  }

  /**
   * Reads a page. Throws {@link InventoryError}, or the reason of `signal`. The answer is not larger than a configuration file.
   */
  async get(url: URL, known: Validators, signal: AbortSignal): Promise<SourceAnswer | undefined> {
    try {
      const { status, headers, bytes, isCut } = await requestBounded({
        agent: this.#agent,
        url,
        accept: 'application/json',
        headers: {
          ...this.#renderAuth(),
          ...(known.etag !== undefined && { 'if-none-match': known.etag }),
          ...(known.lastModified !== undefined && { 'if-modified-since': known.lastModified }),
        },
        bytesMax: CONFIG_FILE_BYTES_MAX,
        signal,
      });
      if (status === NOT_MODIFIED && Object.keys(known).length > 0) return undefined;
      if (status !== OK)
        throw failReading('refused', `The source answered with status ${status}`, undefined, adviseStatus(status));
      if (isCut) throw failReading('too_large', `The answer has more than ${CONFIG_FILE_BYTES_MAX / 1024 ** 2} MiB`);
      const text = decodeText(bytes);
      return {
        text,
        validators: { etag: toValidator(headers['etag']), lastModified: toValidator(headers['last-modified']) },
      };
    } catch (cause) {
      signal.throwIfAborted();
      if (cause instanceof InventoryError) throw cause;
      if (cause instanceof ContentCodingError) throw failReading('invalid', 'The answer cannot be read', cause);
      throw failReading('unreachable', 'The source could not be reached', cause);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.destroy();
  }

  #renderAuth(): Record<string, string> {
    const settings = this.#settings;
    if (settings.type === 'netbox') {
      const token = settings.token?.reveal();
      // Tokens that NetBox makes since 4.5 begin like this, and need the other scheme.
      return token === undefined ? {} : { authorization: `${token.startsWith('nbt_') ? 'Bearer' : 'Token'} ${token}` };
    }
    const { username, password, bearer_token: bearer } = settings;
    if (username !== undefined && password) {
      const account = Buffer.from(`${username}:${password.reveal()}`, 'utf8').toString('base64');
      return { authorization: `Basic ${account}` };
    }
    return bearer ? { authorization: `Bearer ${bearer.reveal()}` } : {};
  }
}

function adviseStatus(status: number): string | undefined {
  if (status >= 300 && status < 400) return 'Redirects are not followed; write the URL that it leads to';
  return status === 401 || status === 403 ? 'Check the credentials of the source' : undefined;
}

function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw failReading('invalid', 'The answer is not UTF-8', cause);
  }
}

function toValidator(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' && header.length <= VALIDATOR_CHARS_MAX && /^[\x20-\x7e]+$/.test(header)
    ? header
    : undefined;
}
