import { expect, test } from 'vitest';
import { startFleet } from '../support/fleet.ts';

const MINUTE_MS = 60_000;

test('a router whose url says http is polled, and the log warns that the password is readable on the network path', async () => {
  await using fleet = await startFleet({ simulator: { plainHttp: true } });
  await fleet.advance(MINUTE_MS);

  const metrics = await fleet.metrics();
  expect(metrics).toContain('router_up{router="sim-1"} 1\n');
  // RouterUnencryptedAccess selects these.
  expect(metrics).not.toContain('router_tls_unverified{');
  expect(fleet.ownLog).toContainEqual({
    level: 'warn',
    message: 'Polling over plain HTTP: anyone on the network path can read the password',
    fields: { router: 'sim-1' },
  });
});

test('a router whose certificate is not checked is polled, and the log warns', async () => {
  await using fleet = await startFleet({ tls: { insecure_skip_verify: true } });
  await fleet.advance(MINUTE_MS);

  const metrics = await fleet.metrics();
  expect(metrics).toContain('router_up{router="sim-1"} 1\n');
  expect(metrics).toContain('router_tls_unverified{router="sim-1"} 1\n');
  expect(metrics).toContain('router_account_writable{router="sim-1"} 0\n');
  expect(fleet.ownLog.map(({ message }) => message)).toContain(
    'Any certificate is accepted: anyone on the network path can read the password',
  );
});

test('a router with an untrusted certificate is down for the reason tls, and never sees the password', async () => {
  await using fleet = await startFleet({ tls: {} });
  await fleet.advance(MINUTE_MS);

  const metrics = await fleet.metrics();
  expect(metrics).toContain('router_up{router="sim-1"} 0\n');
  expect(metrics).toContain('router_failure_reason{router="sim-1",reason="tls"} 1\n');
  expect(fleet.router().counters).toMatchObject({ logins: 0, loginFailures: 0, requests: {} });
});
