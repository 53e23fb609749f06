import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createSteppedClock, createSystemClock } from '../../src/base/index.ts';
import { ConnectionCheck, type ConnectionCheckOptions } from '../../src/client/index.ts';
import { listen } from '../cli/doctor-bench.ts';
import { answerJson, openRouter } from './http-router.ts';
import { authority, certificate } from './wire-bench.ts';

const NEVER = new AbortController().signal;

function openProbe(options: Partial<ConnectionCheckOptions> & { readonly url: string }): ConnectionCheck {
  const probe = new ConnectionCheck({ timeoutMs: 10_000, clock: createSystemClock(), ...options });
  onTestFinished(() => probe.close());
  return probe;
}

test.each([
  ['https://192.0.2.10/prefix', '192.0.2.10'],
  ['http://[2001:db8::1]:8080', '2001:db8::1'],
])('ConnectionCheck.resolve() takes the address in %s as it is', async (url, address) => {
  expect(await openProbe({ url }).resolve(NEVER)).toEqual([address]);
});

test('ConnectionCheck.resolve() gives the addresses of a name', async () => {
  expect(await openProbe({ url: 'https://localhost' }).resolve(NEVER)).toContain('127.0.0.1');
});

test('ConnectionCheck connects, looks at the certificate and sends nothing else', async () => {
  await using bench = await openRouter((_request, response) => answerJson(response, {}), { certificate });
  const probe = openProbe({ url: bench.url, tls: { caPem: authority.caPem } });
  expect(await probe.connect(NEVER)).toEqual({ address: '127.0.0.1', port: bench.port });
  expect(probe.wireBytes).toEqual({ sent: 0, received: 0 });
  const { fault, certificate: shown } = await probe.secure(NEVER);
  expect(fault).toBeUndefined();
  expect(shown?.fingerprintSha256).toMatch(/^([\dA-F]{2}:){31}[\dA-F]{2}$/);
  expect(probe.wireBytes.sent).toBeGreaterThan(300);
  expect(bench.arrived).toEqual([]);
  probe.close();
});

test('ConnectionCheck.secure() finds the fault that makes RouterClient refuse the same certificate', async () => {
  for (const tls of [
    {},
    { caPem: authority.caPem },
    { caPem: authority.caPem, serverName: 'other' },
    { insecureSkipVerify: true },
  ]) {
    await using bench = await openRouter((_request, response) => answerJson(response, {}), { certificate, tls });
    const probe = openProbe({ url: bench.url, tls });
    await probe.connect(NEVER);
    const { fault } = await probe.secure(NEVER);
    const refusal = await bench.client.readStatus('device_info').then(
      () => undefined,
      (error: unknown) => error,
    );
    expect({ tls, fault: fault?.code }).toEqual({ tls, fault: refusal === undefined ? undefined : 'tls' });
  }
});

test('ConnectionCheck.secure() says that certificates of the configuration cannot be used', async () => {
  await using bench = await openRouter((_request, response) => answerJson(response, {}), { certificate });
  const probe = openProbe({ url: bench.url, tls: { caPem: 'no certificate', certPem: 'none', keyPem: 'none' } });
  await probe.connect(NEVER);
  await expect(probe.secure(NEVER)).rejects.toMatchObject({
    code: 'tls',
    hint: expect.stringContaining('tls.cert_file') as string,
  });
  probe.close();
});

test('ConnectionCheck bounds each step in time', async () => {
  const silent = createServer((socket) => void socket.resume());
  onTestFinished(() => void silent.close());
  const clock = createSteppedClock(0);
  const probe = openProbe({ url: `https://127.0.0.1:${await listen(silent)}`, clock, timeoutMs: 5000 });
  await probe.connect(NEVER);
  const refused = expect(probe.secure(NEVER)).rejects.toMatchObject({ code: 'timeout' });
  await clock.advance(5000);
  await refused;
});

test('ConnectionCheck rejects with the reason of the signal', async () => {
  const stop = AbortSignal.abort(new RangeError('enough'));
  const probe = openProbe({ url: 'https://localhost:1' });
  await expect(probe.resolve(stop)).rejects.toThrow('enough');
  await expect(probe.connect(stop)).rejects.toThrow('enough');
});
