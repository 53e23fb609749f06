import { describe, expect, test } from 'vitest';
import {
  checkbox,
  checkValue,
  emailAddr,
  type Field,
  int,
  passwd,
  peer,
  radio,
  renderDescriptor,
  text,
} from '../../src/simulator/configuration/resource.ts';
import { resourceTable } from '../../src/simulator/configuration/resources.ts';

const fields: Readonly<Record<string, Field>> = {
  string: text('f', { maxLen: 3 }),
  needed: text('f', { required: true }),
  passwd: passwd('f', { maxLen: 3 }),
  peer: peer('f'),
  email: emailAddr('f'),
  checkbox: checkbox('f'),
  open: checkbox('f', ''),
  radio: radio('f', ['none', 'ssl']),
  int: int('f', 1, 65_535, 25),
  steps: int('f', 200, 5000, 200, 100),
  unset: int('f', 1, 9, ''),
};

describe('checkValue()', () => {
  test.each([
    ['string', ['', 'abc', 'äöü', '😀😀😀', 'a\nb'], ['abcd', '😀😀😀😀', 'a\u0000b', 'a\rb', 1, null, {}, ['a']]],
    ['needed', ['a'], ['']],
    ['passwd', ['', 'p\u00e4s', '   '], ['abcd', 'a\nb', 'a\tb']],
    [
      'peer',
      ['', 'host', 'a.b-c.example', '192.0.2.1', '2001:db8::1', 'x'.repeat(63)],
      ['-host', 'a..b', 'a b', 'x'.repeat(64), `${'a.'.repeat(51)}b`],
    ],
    ['email', ['', 'a@b', 'first.last@example.com'], ['a', '@b', 'a@', 'a@b@c', 'a b@c', `${'a'.repeat(65)}@b`]],
    ['checkbox', ['0', '1'], ['', '2', 'true', true, 1]],
    ['open', ['', '0', '1'], ['yes']],
    ['radio', ['none', 'ssl'], ['', 'SSL', 'tls']],
    [
      'int',
      ['1', '25', '65535'],
      ['0', '65536', '', '01', '+1', '1.0', '1e3', ' 1', '0x10', '-1', '1'.repeat(400), 25],
    ],
    ['steps', ['200', '300', '5000'], ['199', '250', '5100']],
    ['unset', ['', '1', '9'], ['0', '10']],
  ] as [string, unknown[], unknown[]][])('%s allows its values and no others', (name, allowed, refused) => {
    const field = fields[name];
    if (!field) return expect.unreachable();
    for (const value of allowed) expect([value, checkValue(field, value)]).toEqual([value, undefined]);
    for (const value of refused) expect([value, checkValue(field, value)]).toEqual([value, expect.any(String)]);
  });
});

describe('the table of resources', () => {
  const all = [...resourceTable.values()];

  test.each(all.map((resource) => [resource.path, resource] as const))(
    '%s is consistent',
    (_path, { unique, list }) => {
      for (const level of [unique, list?.fields ?? [], list?.sublist ?? []]) {
        expect(new Set(level.map(({ name }) => name)).size).toBe(level.length);
        for (const field of level) {
          if (!field.required) expect([field.name, checkValue(field, field.default)]).toEqual([field.name, undefined]);
          expect(renderDescriptor(field)).toMatchObject({ name: field.name, type: field.type });
        }
      }
      for (const entry of list?.fresh ?? []) {
        for (const [values, known] of [
          [entry.fields, list?.fields],
          ...(entry.sublist ?? []).map((sub) => [sub, list?.sublist]),
        ] as const) {
          for (const [name, value] of Object.entries(values ?? {})) {
            const field = (known as readonly Field[]).find((one) => one.name === name);
            expect([name, field && checkValue(field, value)]).toEqual([name, undefined]);
            expect(field).toBeDefined();
          }
        }
      }
    },
  );

  test('the web interface has every parameter of the interface document', () => {
    const names = resourceTable.get('administration/webinterface')?.unique.map(({ name }) => name);
    for (const name of [
      ...['http_active', 'https_active', 'http_port', 'https_port', 'https_cert', 'https_key', 'session_timeout'],
      ...['default_log_reverse', 'default_language', 'default_refresh_interval', 'default_log_lines', 'active_https'],
      ...['active_clientauth', 'https_clientauth_ca', 'https_clientauth_crl', 'https_clientauth_group', 'https_ca'],
      'log_requests',
    ]) {
      expect(names).toContain(name);
    }
  });
});
