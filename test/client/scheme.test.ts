import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkValues, decodeScheme, type ParameterScheme, SCHEME_TYPES } from '../../src/client/index.ts';

const EMAIL_ACCOUNT = {
  parameters: {
    unique: [
      { name: 'address', type: 'email_addr' },
      { name: 'real_name', type: 'string', max_len: 100 },
      { name: 'server', type: 'peer', max_len: 100 },
      {
        name: 'encryption',
        type: 'radio',
        items: [
          { value: 'none', translate: true, label: 'none' },
          { value: 'ssl', translate: false, label: 'SSL/TLS' },
        ],
      },
      { name: 'verify_peer', type: 'checkbox' },
      { name: 'port', type: 'int', min: 1, max: 65_535, steps: 1 },
      { name: 'password', type: 'passwd', max_len: 100 },
    ],
  },
};

const { unique: schemes } = decodeScheme(EMAIL_ACCOUNT);
const messageFor = (parameter: string, value: string) => checkValues({ [parameter]: value }, schemes)[0]?.message;

describe('decodeScheme()', () => {
  test('decodes every descriptor with its bounds and choices', () => {
    expect(schemes.map(({ name, type }) => [name, type])).toEqual(
      EMAIL_ACCOUNT.parameters.unique.map(({ name, type }) => [name, type]),
    );
    expect(schemes.find(({ name }) => name === 'port')).toMatchObject({ min: 1, max: 65_535, step: 1 });
    expect(schemes.find(({ name }) => name === 'encryption')?.items).toEqual([
      { value: 'none', label: 'none', isTranslated: true },
      { value: 'ssl', label: 'SSL/TLS', isTranslated: false },
    ]);
    expect(new Set(schemes.map(({ type }) => type))).toEqual(new Set(SCHEME_TYPES));
  });

  test('leaves out what is no descriptor and keeps types that it does not know', () => {
    const unique = [null, 7, { name: 'x' }, { type: 'int' }, { name: 'later', type: 'colour', min: 'red' }];
    const later = [{ name: 'later', type: 'colour', min: undefined }];
    for (const part of ['unique', 'list', 'sublist']) {
      expect(decodeScheme({ parameters: { [part]: unique } })).toMatchObject({
        ...{ unique: [], list: [], sublist: [] },
        [part]: later,
      });
    }
  });

  test('never throws, whatever a router sends', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.dictionary(fc.string(), fc.string()), (scheme, values) => {
        checkValues(values, decodeScheme(scheme).list);
        checkValues(values, decodeScheme({ parameters: scheme }).sublist);
        const unique = [scheme, { name: 'a', type: 'radio', items: scheme }];
        checkValues(values, decodeScheme({ parameters: { unique } }).unique);
      }),
    );
  });
});

describe('checkValues()', () => {
  test.each([
    ['address', 'noc@example.net'],
    ['address', ''],
    ['real_name', 'x'.repeat(100)],
    ['real_name', '🛰'.repeat(100)],
    ['server', 'mail.example.net'],
    ['server', '2001:db8::1'],
    ['encryption', 'ssl'],
    ['verify_peer', '0'],
    ['verify_peer', '1'],
    ['port', '1'],
    ['port', '65535'],
    ['port', ''],
  ])('takes %s = %j', (parameter, value) => {
    expect(messageFor(parameter, value)).toBeUndefined();
  });

  test.each([
    ['address', 'nobody', 'Expected an e-mail address'],
    ['real_name', 'x'.repeat(101), 'Expected at most 100 characters'],
    ['server', 'two words', 'Expected a host name or an IP address'],
    ['encryption', 'rot13', 'Expected one of "none", "ssl"'],
    ['verify_peer', 'yes', 'Expected "0" or "1"'],
    ['port', '0', 'Expected a whole number from 1 to 65535'],
    ['port', '65536', 'Expected a whole number from 1 to 65535'],
    ['port', '25.5', 'Expected a whole number from 1 to 65535'],
    ['port', '9'.repeat(400), 'Expected a whole number from 1 to 65535'],
    ['unknown', 'x', 'The resource has no such parameter'],
  ])('refuses %s = %j', (parameter, value, message) => {
    expect(messageFor(parameter, value)).toBe(message);
  });

  test('checks the steps of a number from its minimum', () => {
    const period: ParameterScheme = {
      ...schemes[5],
      name: 'period',
      type: 'int',
      min: 200,
      max: 5000,
      step: 100,
    } as ParameterScheme;
    expect(checkValues({ period: '1100' }, [period])).toEqual([]);
    expect(checkValues({ period: '1150' }, [period])).toMatchObject([
      { message: 'Expected steps of 100, from 200 to 5000' },
    ]);
  });

  test('names every fault and never repeats a value, which may be a password', () => {
    const faults = checkValues({ password: 'hunter2'.repeat(20), port: 'secret-port' }, schemes);
    expect(faults.map(({ parameter }) => parameter)).toEqual(['password', 'port']);
    expect(JSON.stringify(faults)).not.toMatch(/hunter2|secret-port/);
  });
});
