import type { Secret } from '../../base/index.ts';
import type { ClientAuth } from '../../net/index.ts';
import { DeliveryError } from '../errors.ts';

/** Headers of the request itself, which cannot be configured. */
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

/** The headers and credentials of a sink. */
interface SinkHeaders {
  /** Name of the sink. */
  readonly name: string;
  readonly headers: Readonly<Record<string, Secret>>;
  readonly auth?: ClientAuth | undefined;
}

/**
 * Returns the configured headers, names in lower case, and `authorization` if there are credentials. Throws `misconfigured` for one
 * that cannot be sent or that belongs to the request itself: with another Content-Type, for example, the sink would reject every record.
 */
export function revealHeaders({ name, headers, auth }: SinkHeaders): Record<string, string> {
  const toMisconfigured = (what: string, hint: string) =>
    new DeliveryError('misconfigured', `Sink ${name} cannot send ${what}`, { disposition: 'operator', hint });
  const revealed: Record<string, string> = {};
  for (const [header, secret] of Object.entries(headers)) {
    const value = secret.reveal();
    const fault = findFault(header.toLowerCase(), value);
    if (fault !== undefined) {
      throw toMisconfigured(`the header ${JSON.stringify(header)}: ${fault}`, `Check headers of sink ${name}`);
    }
    revealed[header.toLowerCase()] = value;
  }
  if (!auth) return revealed;
  const authorization = renderAuthorization(auth);
  if (VALUE.test(authorization)) return { ...revealed, authorization };
  throw toMisconfigured(
    'its credentials: they contain a character that is not allowed in a header',
    `Check the token or key of sink ${name}, and that its file contains nothing else`,
  );
}

function findFault(name: string, value: string): string | undefined {
  if (!NAME.test(name)) return 'its name is not valid';
  if (OWN_HEADERS.has(name)) return 'the agent sets it itself';
  if (!VALUE.test(value)) return 'its value contains a character that is not allowed in a header';
  return undefined;
}

/** Renders the value of the `Authorization` header, with the secret in clear text. */
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

/** Lists all texts that must never be shown. */
export function listSecrets(auth: ClientAuth): readonly string[] {
  const [, credentials = ''] = renderAuthorization(auth).split(' ', 2);
  return auth.kind === 'basic' ? [credentials, auth.password.reveal()] : [credentials];
}
