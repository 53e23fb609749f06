import type { PollFault, PollStep, RouterState, RouterSummary } from '../api/routers.ts';
import type { Facet } from './facets.ts';
import { toShown } from './html.ts';

/** Display names of the poll steps. */
export const STEP_NAMES: Readonly<Record<PollStep, string>> = {
  dns: 'DNS',
  tcp: 'TCP',
  tls: 'TLS',
  login: 'login',
  resource: 'resource',
  parse: 'parse',
};

/** Hints for failed steps. */
const STEP_HINTS: Readonly<Record<PollStep, string>> = {
  dns: 'The host name does not resolve. Check the name in "url", and the DNS server of this machine.',
  tcp: 'No connection could be opened, or it broke. Is the router switched on and reachable, and its HTTPS or HTTP access enabled on this port? If "url" has a host name, an unresponsive DNS server looks the same.',
  tls: 'The address answers, but its certificate is not trusted or it does not speak TLS. Check "tls", and the scheme in "url".',
  login:
    'The router answers, but refused the login. Check "username" and "password", and whether the account is active on the router. Refused credentials are retried with increasing delays, so that the router does not lock the account.',
  resource:
    'The login succeeded, but the router did not return this resource, or not in time. Check the load of the router, and "poll.timeout".',
  parse:
    'The response is not what this resource should return. Is another device at this address, or new firmware installed?',
};

/** Hint for a login that failed for another reason than that the router refused it. */
const LOGIN_UNANSWERED =
  'The router did not answer the login, or answered with something else. Is it busy or slow ("poll.timeout"), or is another device at this address?';

/** Returns the hint for a failed step; `reason` is that of the router. */
export function hintFor(step: PollStep, reason: string): string {
  return step === 'login' && reason !== 'auth' ? LOGIN_UNANSWERED : STEP_HINTS[step];
}

/** Renders the step, and the resource if there is one. */
export function renderStep({ step, resource }: PollFault): string {
  return resource === null ? STEP_NAMES[step] : `${STEP_NAMES[step]} ${toShown(resource, 120)}`;
}

/** Names and values of facets are cut to this length in lists. Characters. */
export const FACET_CHARS_MAX = 60;

/** Renders a value of a facet; of a label, the part behind its name. */
export function renderFacetValue(facet: Facet, value: string): string {
  if (facet === 'step') return STEP_NAMES[value as PollStep] ?? value;
  return toShown(facet === 'label' ? value.slice(value.indexOf('=') + 1) : value, FACET_CHARS_MAX);
}

/** Display names of the router states. */
export const STATE_NAMES: Readonly<Record<RouterState, string>> = {
  up: 'up',
  down: 'down',
  unknown: 'not polled yet',
  budget: 'byte budget used up',
  paused: 'paused',
  retired: 'retired',
};

/** Colour class of each state. Pages always show the word, too. */
export const STATE_TONES: Readonly<Record<RouterState, string>> = {
  up: 'good',
  down: 'bad',
  unknown: 'soft',
  budget: 'warn',
  paused: 'soft',
  retired: 'soft',
};

/** The filters of the fleet, in display order. */
export const FILTERS: Readonly<
  Record<
    string,
    {
      readonly title: string;
      readonly fits: (router: RouterSummary) => boolean;
      /** True if its count is only shown when there are such routers. */
      readonly isRare?: boolean;
      /** The filter before it that its routers usually fit, too. */
      readonly partOf?: 'up' | 'down';
    }
  >
> = {
  up: { title: 'up', fits: ({ state }) => state === 'up' },
  part: { title: 'up in part', fits: ({ state, fault }) => state === 'up' && fault !== null, partOf: 'up' },
  down: { title: 'down', fits: ({ state }) => state === 'down' },
  stale: { title: 'stale', fits: ({ isStale }) => isStale, partOf: 'down' },
  refused: {
    title: 'login refused',
    fits: ({ failure }) => failure?.step === 'login' && failure.reason === 'auth',
    partOf: 'down',
  },
  budget: { title: 'out of budget', fits: ({ state }) => state === 'budget' },
  unknown: { title: 'not polled yet', fits: ({ state }) => state === 'unknown' },
  loss: { title: 'may lose log lines', fits: ({ logLossSince }) => logLossSince !== null, isRare: true },
  maintenance: { title: 'in maintenance', fits: ({ lifecycle }) => lifecycle.state === 'maintenance', isRare: true },
  paused: { title: 'paused', fits: ({ state }) => state === 'paused', isRare: true },
  retired: { title: 'retired', fits: ({ state }) => state === 'retired', isRare: true },
};
