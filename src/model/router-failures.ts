/**
 * Words for the point at which a request to a router fails, on pages, in the log, in `doctor` and in the runbooks; also the values of
 * the label `reason`. `budget`: not asked, or an answer not read to its end.
 */
export const ROUTER_FAILURES = ['dns', 'connect', 'tls', 'auth', 'http', 'timeout', 'parse', 'budget'] as const;
/** Point at which a request to a router fails. */
export type RouterFailure = (typeof ROUTER_FAILURES)[number];

/**
 * The steps of a poll, in order: resolve the name, open a connection, verify the certificate, log in, request the
 * resource, parse its document. A time-out is a failure of one of them.
 */
export const POLL_STEPS = [
  'dns',
  'connect',
  'tls',
  'auth',
  'http',
  'parse',
] as const satisfies readonly RouterFailure[];
/** Step of a poll. */
export type PollStep = (typeof POLL_STEPS)[number];

const SENTENCES: Readonly<Record<RouterFailure, string>> = {
  dns: 'The host name in url does not resolve: check the name, and the DNS server of the machine that runs the agent',
  connect:
    'No connection could be opened, or it broke: check that the router is switched on and reachable, and that it serves HTTPS or HTTP on this port',
  tls: 'The certificate is not trusted, or the TLS handshake failed: check tls and the scheme in url of this router',
  auth: 'The router refused the login or the request: check username, password and the rights of the account',
  http: 'The router did not answer the request as expected: check its load, and whether another device has its address',
  timeout: 'The router did not answer in time: check its load and its connection, or raise poll.timeout',
  parse:
    'The response has an unexpected format: check whether another device has this address, or new firmware is installed',
  budget: 'The byte budget of the day is used up: wait until the next day, or raise byte_budget of this router',
};

/** Returns what a failure means and what to check; `undefined` if the text is not one of {@link ROUTER_FAILURES}. */
export function explainFailure(failure: string): string | undefined {
  return Object.hasOwn(SENTENCES, failure) ? SENTENCES[failure as RouterFailure] : undefined;
}
