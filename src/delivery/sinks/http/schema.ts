import { Secret } from '../../../base/index.ts';
import { type About, parsePlainUrl, webUrl } from '../../../settings/index.ts';
import { batch, compress, format } from '../common-keys.ts';
import { sinkSchema } from '../define-sink.ts';
import { webShape } from '../web-keys.ts';

/** A sink of type `http`. */
export const httpSchema = sinkSchema('http', 'One record per line in the body of a POST, as `application/x-ndjson`.', {
  url: queryUrl(
    {
      description:
        'URL to post to, including a query if the receiver needs one. Values of the query are secrets, except those of keys that begin with `_`.',
    },
    'https://logs.example.net/ingest?source=routers',
  ),
  ...webShape,
  compress: compress('none', 'bodies'),
  format: format(['native', 'ecs', 'otel']),
  batch: batch({ recordsMax: 1000, bytesMax: 1024 ** 2, waitMs: 1000 }),
});

/** A URL and its query, which may contain secrets. */
interface QueryUrl {
  /** URL without the query. */
  readonly url: string;
  /** Percent-encoded pieces of the query, without the question mark, to be joined as they are. */
  readonly query: readonly (string | Secret)[];
}

/** A key for a URL that is used as it is, with its query. */
function queryUrl(about: About, example: string) {
  const expected = 'an http or https URL of scheme, host, port, path and query alone, without credentials and fragment';
  return webUrl(about, `${expected}, such as ${example}`, parseQueryUrl, renderQueryUrl);
}

/** Parses a URL. Query values are secrets, except those of keys that begin with `_`; so are parts without a key. */
function parseQueryUrl(value: string): QueryUrl | undefined {
  const [address = '', ...rest] = value.split('?');
  const url = parsePlainUrl(address);
  // The WHATWG parser would accept these, and drop them or end the query there.
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

/** Renders the URL, with secrets as `[secret]`. */
function renderQueryUrl({ url, query }: QueryUrl): string {
  return query.length === 0 ? url : `${url}?${query.join('')}`;
}
