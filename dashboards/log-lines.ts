import { BY_SITE } from './kit/index.ts';

/** Label that the sink `loki` sets on every stream. */
const SERVICE = 'service_name="router-exporter"';

/**
 * Selects lines of the selected routers, as LogQL. `router` is a label of the stream or structured metadata, depending
 * on the layout of the sink; a filter after the selector matches both.
 */
export function selectLines(...matchers: readonly string[]): (...filters: readonly string[]) => string {
  const selector = `{${[SERVICE, BY_SITE, ...matchers].join(', ')}}`;
  return (...filters) => [selector, 'router=~"$router"', ...filters].join(' | ');
}
