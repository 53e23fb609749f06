/**
 * What the container engine asks: exit code 0 when the agent's server answers, 1 when it does not.
 *
 * `HEALTH_URL` is where, when it is not the usual place: https:// when the server has TLS, another port, a route prefix.
 * 401 is an answer, too: it comes from a server that wants a password. The certificate is not looked at, because it is
 * made for the name that others call the server by.
 */
import { get as getPlain } from 'node:http';
import { get as getSecure } from 'node:https';

/** Below the `timeout` of HEALTHCHECK. */
const TIMEOUT_MS = 4000;
const url = process.env.HEALTH_URL || 'http://127.0.0.1:9847/-/healthy';

const get = url.startsWith('https:') ? getSecure : getPlain;
const signal = AbortSignal.timeout(TIMEOUT_MS);
get(url, { signal, agent: false, rejectUnauthorized: false }, ({ statusCode }) => {
  process.stdout.write(`${url} answers ${statusCode}\n`);
  process.exit(statusCode === 200 || statusCode === 401 ? 0 : 1);
}).on('error', (cause) => {
  process.stdout.write(`${url} does not answer: ${cause.message}\n`);
  process.exit(1);
});
