import { BY_SITE } from './kit/index.ts';

/** What the sink `loki` labels every stream with. */
const SERVICE = 'service_name="router-exporter"';

/**
 * Lines of the routers that are picked, for LogQL. `router` is a label of the stream or structured metadata, depending
 * on the layout of the sink; a filter behind the selector finds it in both.
 */
export function selectLines(...matchers: readonly string[]): (...filters: readonly string[]) => string {
  const selector = `{${[SERVICE, BY_SITE, ...matchers].join(', ')}}`;
  return (...filters) => [selector, 'router=~"$router"', ...filters].join(' | ');
}
