import { expect, test } from 'vitest';
import { openSecureContext } from '../../src/net/index.ts';
import { authority, certificate } from '../client/wire-bench.ts';
import { collectGarbage } from '../support/collect-garbage.ts';

const { caPem } = authority;
const { cert: certPem, key: keyPem } = certificate;

test('openSecureContext() gives one context to all who trust the same, and another for every difference', () => {
  const settings = [
    [{}, undefined],
    [{ caPem }, undefined],
    [{ caPem: certPem }, undefined],
    [{ caPem, certPem, keyPem }, undefined],
    [{ certPem, keyPem }, undefined],
    [{ caPem }, 'P-256'],
  ] as const;
  const contexts = settings.map(([trust, groups]) => openSecureContext(trust, groups));
  expect(new Set(contexts).size).toBe(settings.length);
  for (const [index, [trust, groups]] of settings.entries()) {
    expect(openSecureContext({ ...trust }, groups)).toBe(contexts[index]);
  }
});

test('openSecureContext() shares it however the connection is checked otherwise', () => {
  const other = { caPem, serverName: 'plant-7', fingerprintSha256: '00', insecureSkipVerify: true };
  expect(openSecureContext(other)).toBe(openSecureContext({ caPem }));
});

test('openSecureContext() releases a context, and the key in it, that is no longer used', async () => {
  const open = () => new WeakRef(openSecureContext({ caPem, certPem, keyPem }, 'P-384'));
  const context = open();
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();
  expect(context.deref()).toBeUndefined();
  expect(openSecureContext({ caPem, certPem, keyPem }, 'P-384')).toBeDefined();
});

test('openSecureContext() throws for what is no certificate, each time', () => {
  for (let time = 0; time < 2; time++) {
    expect(() => openSecureContext({ certPem: 'none', keyPem })).toThrow(/PEM/i);
  }
});
