import type { Secret } from '../../base/index.ts';
import { renderAuthorization, type SinkAuth } from '../auth.ts';
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

/**
 * Returns the configured headers, names in lower case. Throws `misconfigured` for one that cannot be sent or that belongs
 * to the request itself: with another Content-Type, for example, the sink would reject every record.
 */
export function revealHeaders(sink: string, headers: Readonly<Record<string, Secret>>): Record<string, string> {
  const revealed: Record<string, string> = {};
  for (const [name, secret] of Object.entries(headers)) {
    const value = secret.reveal();
    const lower = name.toLowerCase();
    const fault = findFault(lower, value);
    if (fault !== undefined) {
      throw new DeliveryError(
        'misconfigured',
        `Sink ${sink} cannot send the header ${JSON.stringify(name)}: ${fault}`,
        {
          disposition: 'operator',
          hint: `Check headers of sink ${sink}`,
        },
      );
    }
    revealed[lower] = value;
  }
  return revealed;
}

/** Returns the header `authorization`, if any. Throws `misconfigured` for credentials that do not fit into a header. */
export function revealAuthorization({
  name,
  auth,
}: {
  readonly name: string;
  readonly auth?: SinkAuth | undefined;
}): Record<string, string> {
  if (!auth) return {};
  const authorization = renderAuthorization(auth);
  if (VALUE.test(authorization)) return { authorization };
  throw new DeliveryError(
    'misconfigured',
    `Sink ${name} cannot send its credentials: they contain a character that is not allowed in a header`,
    {
      disposition: 'operator',
      hint: `Check the token or key of sink ${name}, and that its file contains nothing else`,
    },
  );
}

function findFault(name: string, value: string): string | undefined {
  if (!NAME.test(name)) return 'its name is not valid';
  if (OWN_HEADERS.has(name)) return 'the agent sets it itself';
  if (!VALUE.test(value)) return 'its value contains a character that is not allowed in a header';
  return undefined;
}
