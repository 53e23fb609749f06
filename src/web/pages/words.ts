import type { PollFault, PollStep, RouterState, RouterSummary } from '../api-types.ts';
import { toShown } from './html.ts';

/** What pages call the steps of the way to a value. */
export const STEP_NAMES: Readonly<Record<PollStep, string>> = {
  dns: 'DNS',
  tcp: 'TCP',
  tls: 'TLS',
  login: 'login',
  resource: 'resource',
  parse: 'parse',
};

/** What to look at when a step fails. */
export const STEP_HINTS: Readonly<Record<PollStep, string>> = {
  dns: 'The name in the address has no address. Look at the name in "url", and at the name server of this machine.',
  tcp: 'No connection came about, or it broke. Is the router switched on and reachable, and its HTTPS or HTTP access active on this port? Behind a name, a name server that is silent looks the same.',
  tls: 'The router is there, but its certificate is not trusted or nothing there speaks TLS. Look at "tls", and at the scheme in "url".',
  login:
    'The router is there, but did not let the account in. Look at "username" and "password", and whether the account is active there. Refused credentials are tried less and less often, so that the router does not lock the account.',
  resource:
    'The router let the account in, but did not give this resource, or not in time. Look at the load of the router, and at "poll.timeout".',
  parse:
    'The router answered with something that is not what this resource should be. Is there something else at this address, or new firmware?',
};

/** The step, and the resource if it had come to one. */
export function renderPlace({ step, resource }: PollFault): string {
  return resource === null ? STEP_NAMES[step] : `${STEP_NAMES[step]} ${toShown(resource, 120)}`;
}

export const STATE_NAMES: Readonly<Record<RouterState, string>> = {
  up: 'up',
  down: 'down',
  unknown: 'not polled yet',
  budget: 'byte budget used up',
};

/** Which colour a state has. The word itself always stands there, too. */
export const STATE_TONES: Readonly<Record<RouterState, string>> = {
  up: 'good',
  down: 'bad',
  unknown: 'soft',
  budget: 'warn',
};

/** The filters of the fleet, in the order in which they stand on its page. */
export const FILTERS: Readonly<
  Record<string, { readonly title: string; readonly fits: (router: RouterSummary) => boolean }>
> = {
  up: { title: 'up', fits: ({ state }) => state === 'up' },
  down: { title: 'down', fits: ({ state }) => state === 'down' },
  part: { title: 'up in part', fits: ({ state, fault }) => state === 'up' && fault !== null },
  stale: { title: 'stale', fits: ({ isStale }) => isStale },
  refused: { title: 'login refused', fits: ({ failure }) => failure?.step === 'login' },
  budget: { title: 'out of budget', fits: ({ state }) => state === 'budget' },
  unknown: { title: 'not polled yet', fits: ({ state }) => state === 'unknown' },
};
