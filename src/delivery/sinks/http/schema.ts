import { Secret } from '../../../base/index.ts';
import { type About, parsed, parsePlainUrl, withSecrecy } from '../../../settings/index.ts';
import { batch, compress, format } from '../common-keys.ts';
import { type OwnKeys, sinkSchema } from '../define-sink.ts';
import { webShape } from '../web-keys.ts';

/** A sink of type `http`. */
export const httpSchema = sinkSchema('http', 'One record per line in the body of a POST, as `application/x-ndjson`.', {
  url: queryUrl(
    {
      description:
        'Where records are posted, with the query that the receiver needs. The values of the query are treated as secrets, except those of keys that begin with `_`.',
    },
    'https://logs.example.net/ingest?source=routers',
  ),
  ...webShape,
  compress: compress('none', 'bodies'),
  format: format(['native', 'ecs', 'otel']),
  batch: batch({ recordsMax: 1000, bytesMax: 1024 ** 2, waitMs: 1000 }),
});

type HttpKeys = OwnKeys<typeof httpSchema>;
type HttpSettings = Readonly<ReturnType<typeof toHttpSettings>>;

export function toHttpSettings({ url: address, ...same }: HttpKeys) {
  return { ...same, ...address };
}

export function toHttpKeys({ url, query, ...same }: HttpSettings): HttpKeys {
  return { ...same, url: { url, query } };
}

/** An address and its query, in which there may be secrets. */
export interface QueryUrl {
  /** Without the query. */
  readonly url: string;
  /** Pieces of the query, percent-encoded and without the question mark, to be joined as they are. */
  readonly query: readonly (string | Secret)[];
}

/** An address that is asked for as it is, with its query. */
function queryUrl(about: About, example: string) {
  const expected = 'an http or https URL of scheme, host, port, path and query alone, without credentials and fragment';
  const written = parsed({ kind: 'URL', ...about }, `${expected}, such as ${example}`, parseQueryUrl, renderQueryUrl);
  return withSecrecy('possible', written);
}

/** Every value of the query is a secret, but for those of keys that begin with `_`; so is a part without a key. */
function parseQueryUrl(value: string): QueryUrl | undefined {
  const [address = '', ...rest] = value.split('?');
  const url = parsePlainUrl(address);
  // The WHATWG parser forgives these as well: it would drop them, or end the query there.
  if (url === undefined || /[\s\\#]/.test(value)) return undefined;
  const query = new URL(`${url}?${rest.join('?')}`).search.slice(1);
  const pieces = query.split('&').flatMap((part, index) => {
    const [, key = '', held = ''] = /^([^=]*=)?(.*)$/s.exec(part) ?? [];
    const separator = index === 0 ? '' : '&';
    const isShown = held === '' || part.startsWith('_');
    return isShown ? [`${separator}${part}`] : [`${separator}${key}`, new Secret(held)];
  });
  return { url, query: pieces.filter((piece) => piece !== '') };
}

/** As text, a secret says that it is one. */
function renderQueryUrl({ url, query }: QueryUrl): string {
  return query.length === 0 ? url : `${url}?${query.join('')}`;
}
