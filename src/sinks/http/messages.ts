import type { Disposition, Secret } from '../../base/index.ts';
import { type ClientAuth, sanitizeErrorText, secretOf } from '../../net/index.ts';
import { DeliveryError, type DeliveryFailure } from '../contracts.ts';

const OWN_HEADERS = new Set([
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'idempotency-key',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Characters that HTTP allows in a value, sent as Latin-1. */
const VALUE = /^[\t\x20-\x7e\xa0-\xff]*$/;

export class SinkHeaders {
  readonly #sink: string;
  readonly #headers: Readonly<Record<string, Secret>>;
  readonly #auth: ClientAuth | undefined;

  constructor(sink: string, headers: Readonly<Record<string, Secret>> = {}, auth?: ClientAuth) {
    this.#sink = sink;
    this.#headers = headers;
    this.#auth = auth;
  }

  /**
   * Returns the headers, names in lower case, with `authorization` if there are credentials. Throws `misconfigured` for one
   * that cannot be sent or belongs to the request itself: with another Content-Type, for example, the sink would reject every
   * record.
   */
  reveal(): Record<string, string> {
    const toMisconfigured = (what: string, hint: string) =>
      new DeliveryError('misconfigured', `Sink ${this.#sink} cannot send ${what}`, { disposition: 'operator', hint });
    const revealed: Record<string, string> = {};
    for (const [header, secret] of Object.entries(this.#headers)) {
      const value = secret.reveal();
      const fault = findFault(header.toLowerCase(), value);
      if (fault !== undefined) {
        throw toMisconfigured(`the header ${JSON.stringify(header)}: ${fault}`, `Check headers of sink ${this.#sink}`);
      }
      revealed[header.toLowerCase()] = value;
    }
    if (!this.#auth) return revealed;
    const authorization = renderAuthorization(this.#auth);
    if (VALUE.test(authorization)) return { ...revealed, authorization };
    throw toMisconfigured(
      'its credentials: they contain a character that is not allowed in a header',
      `Check the token or key of sink ${this.#sink}, and that its file contains nothing else`,
    );
  }

  /** Reads the secrets again after `revealed` was rejected; resolves to true if one of them has changed. */
  async renew(revealed: Readonly<Record<string, string>>): Promise<boolean> {
    const secrets = [...Object.values(this.#headers), ...(this.#auth ? [secretOf(this.#auth)] : [])];
    for (const secret of secrets) await secret.renew(secret.reveal());
    return JSON.stringify(this.reveal()) !== JSON.stringify(revealed);
  }

  /** Lists all texts that must never be shown. */
  listSecrets(): readonly string[] {
    const values = Object.values(this.#headers).map((secret) => secret.reveal());
    if (!this.#auth) return values;
    const [, credentials = ''] = renderAuthorization(this.#auth).split(' ', 2);
    return [...values, credentials, secretOf(this.#auth).reveal()];
  }
}

function findFault(name: string, value: string): string | undefined {
  if (!NAME.test(name)) return 'its name is not valid';
  if (OWN_HEADERS.has(name)) return 'the agent sets it itself';
  if (!VALUE.test(value)) return 'its value contains a character that is not allowed in a header';
  return undefined;
}

function renderAuthorization(auth: ClientAuth): string {
  switch (auth.kind) {
    case 'basic':
      return `Basic ${Buffer.from(`${auth.username}:${auth.password.reveal()}`, 'utf8').toString('base64')}`;
    case 'bearer':
      return `Bearer ${auth.token.reveal()}`;
    case 'api-key':
      return `ApiKey ${auth.key.reveal()}`;
  }
}

/** The response of a sink, read completely or up to a bound. */
export interface HttpAnswer {
  readonly status: number;
  /** The body as text. That of a 2xx status is unchanged, because it is data: quote what is shown of it. */
  readonly body: string;
  /** The body as received. */
  readonly bytes: Uint8Array;
  readonly retryAfterMs?: number | undefined;
  readonly sentBytes: number;
  /** Returns the value of a header (name in lower case); `undefined` when it is absent or repeated. */
  header(name: string): string | undefined;
  /** Prepares text of the body for a message: without the secrets of the request, and as {@link sanitizeErrorText} does. */
  quote(text: string): string;
}

interface StatusClass {
  readonly code: DeliveryFailure;
  readonly disposition: Disposition;
  readonly hint?: string;
}

const forOperator = (code: DeliveryFailure, hint: string): StatusClass => ({ code, disposition: 'operator', hint });
const UNAUTHORIZED = forOperator('unauthorized', 'Check the credentials of this sink and their permissions');
const MISCONFIGURED = forOperator('misconfigured', 'Check the url of this sink');
const ENCODING = forOperator(
  'misconfigured',
  'Check the url, type and format of this sink, and whether the receiver accepts compressed bodies (compress)',
);
const TOO_LARGE: StatusClass = { code: 'too_large', disposition: 'dead-letter' };
const REFUSED: StatusClass = { code: 'refused', disposition: 'dead-letter' };
const THROTTLED: StatusClass = { code: 'throttled', disposition: 'retry' };
const FAILED: StatusClass = { code: 'failed', disposition: 'retry' };

/** Statuses below 500 that do not concern the content of the records. */
const CLASSES: readonly (readonly [StatusClass, ...number[]])[] = [
  [UNAUTHORIZED, 401, 402, 403],
  [MISCONFIGURED, 404, 405, 407, 410, 411, 421, 426, 431],
  [ENCODING, 406, 415],
  [FAILED, 408],
  [TOO_LARGE, 413],
  [THROTTLED, 425, 429],
];

/**
 * Bodies of status 400 for a wrong scheme or a missing certificate: the server has not seen a record. Matched from the
 * beginning of the body only, because a server may quote a record later in it.
 */
const CONNECTION_PAGES =
  /^(<html>\s*<head><title>400 (The plain HTTP request was sent to HTTPS port|No required SSL certificate was sent|The SSL certificate error)<\/title>|Client sent an HTTP request to an HTTPS server\.)/;
const WRONG_CONNECTION = forOperator(
  'misconfigured',
  'Check the scheme in the url of this sink, and its tls.cert_file and tls.key_file',
);

/**
 * Converts a response that rejects the whole request to an error; `what` names the responder, as in `Sink web`. A 2xx status
 * counts as a violation of the protocol.
 */
export function toAnswerError(answer: HttpAnswer, what: string): DeliveryError {
  const { status, retryAfterMs } = answer;
  const { code, disposition, hint } = classify(answer);
  const words = answer.quote(answer.body);
  return new DeliveryError(code, `${what} answered with status ${status}${words === '' ? '' : `: ${words}`}`, {
    disposition,
    hint: status >= 300 && status < 400 ? renderRedirect(answer) : hint,
    retryAfterMs,
    answer: String(status),
  });
}

function classify({ status, retryAfterMs, body }: HttpAnswer): StatusClass {
  if (status < 300) return { code: 'protocol_error', disposition: 'retry' };
  if (status < 400) return MISCONFIGURED;
  if (status === 400 && CONNECTION_PAGES.test(body)) return WRONG_CONNECTION;
  if (status < 500) return CLASSES.find(([, ...statuses]) => statuses.includes(status))?.[0] ?? REFUSED;
  return status === 503 && retryAfterMs !== undefined ? THROTTLED : FAILED;
}

function renderRedirect(answer: HttpAnswer): string {
  const place = sanitizeErrorText(answer.header('location') ?? '').replace(/[?#].*$/, '');
  return place === ''
    ? 'Check the url of this sink'
    : `Check the url of this sink: it redirects to ${place}, and the agent does not follow redirects`;
}
