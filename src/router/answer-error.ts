import { isPlainObject } from './decode.ts';
import { type ErrorDetail, RouterError, type RouterErrorOptions } from './errors.ts';
import type { JsonAnswer, TransportRequest } from './transport.ts';

/** Limits of the router's own error details: length of each, and number. */
const WORDS_LENGTH_MAX = 200;
const WORDS_MAX = 20;

const HINTS: Readonly<Record<number, string>> = {
  400: 'The router does not accept what was sent; the words in brackets are its own',
  403: 'The group of the account does not permit this; see the rights of its user on the router',
  404: 'This router does not have it: other cards, another firmware, or a name that is not known to it',
  500: 'The router could not store or activate it; see its own log',
  503: 'The router is busy with another request of this kind; it was asked again in vain',
};

/** Returns the error for an answer with an unexpected status. */
export function toAnswerError(answer: JsonAnswer, request: TransportRequest): RouterError {
  const { status, retryAfterMs } = answer;
  const words = decodeWords(answer.body);
  const said = words.map(({ topic, text }) => `${topic}: ${text}`).join('; ');
  const what = `${request.method} ${request.path} was answered with ${status}${said && ` (${said})`}`;
  const options: Omit<RouterErrorOptions, 'disposition'> = { status, words, retryAfterMs, hint: HINTS[status] };
  if (status === 401) return new RouterError('auth', what, { ...options, disposition: 'login-again' });
  if (status === 403) return new RouterError('auth', what, { ...options, disposition: 'operator', isAnswered: true });
  const isFinal = status >= 400 && status < 500 && status !== 408 && status !== 429;
  return new RouterError('http', what, { ...options, disposition: isFinal ? 'skip' : 'retry', isAnswered: true });
}

/** Returns the error for a 401 straight after a login: the account is valid, but may not make this call. */
export function toRefusalError({ message, status, words }: RouterError): RouterError {
  const hint = HINTS[403];
  const options = { status, words, hint, disposition: 'operator', isAnswered: true } as const;
  return new RouterError('auth', `${message} whatever the login`, options);
}

/** The words of an error body, `{"error": [{"<topic>": "<text>"}, …]}`; nothing when it has another shape. */
function decodeWords(body: unknown): readonly ErrorDetail[] {
  const errors: unknown = isPlainObject(body) ? body['error'] : undefined;
  if (!Array.isArray(errors)) return [];
  return errors.slice(0, WORDS_MAX).flatMap((error: unknown) => {
    if (!isPlainObject(error)) return [];
    return Object.entries(error)
      .slice(0, 1)
      .flatMap(([topic, text]) => (typeof text === 'string' ? { topic: clean(topic), text: clean(text) } : []));
  });
}

function clean(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, ' ').slice(0, WORDS_LENGTH_MAX);
}
