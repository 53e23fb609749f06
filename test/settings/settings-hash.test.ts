import { expect, test } from 'vitest';
import { Secret } from '../../src/base/index.ts';
import { renderSettingsHash } from '../../src/settings/index.ts';
import { CERTIFICATE, load } from '../config/configuration-folder.ts';

const settings = (password: string, more: object = {}) => ({
  name: 'a',
  auth: { password: new Secret(password) },
  ...more,
});

test('renderSettingsHash() tells settings apart by their secrets, and equal ones not', () => {
  expect(renderSettingsHash(settings('one'))).toBe(renderSettingsHash(settings('one')));
  expect(renderSettingsHash(settings('one'))).not.toBe(renderSettingsHash(settings('two')));
  expect(renderSettingsHash(settings('one'))).not.toBe(renderSettingsHash(settings('one', { list: [1] })));
  expect(renderSettingsHash({ list: [new Secret('a')] })).not.toBe(renderSettingsHash({ list: [new Secret('b')] }));
});

test('renderSettingsHash() takes a key for the same in whatever layer it stands', async () => {
  const routers = 'routers:\n- { name: a, url: "https://a", username: u, password: p';
  const tls = { file: 'ca_file: ca.pem', name: 'server_name: b' };
  const files = { 'ca.pem': CERTIFICATE };
  const one = await load(`defaults: { tls: { ${tls.file}, ${tls.name} } }\n${routers} }`, { files });
  const two = await load(`defaults: { tls: { ${tls.name} } }\n${routers}, tls: { ${tls.file} } }`, { files });
  const [before, after] = [one.config?.routers, two.config?.routers];
  expect(before).toHaveLength(1);
  expect(renderSettingsHash(before)).toBe(renderSettingsHash(after));
});

test('renderSettingsHash() does not tell a secret', () => {
  expect(renderSettingsHash(settings('hunter2hunter2'))).not.toContain('hunter2');
});
