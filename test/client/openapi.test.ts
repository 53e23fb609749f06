import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseApiDescription } from '../../src/client/index.ts';

const description = {
  openapi: '3.0.3',
  info: { title: 'icom OS - REST API', version: '9.5' },
  paths: {
    '/status/device_info': { get: { summary: 'Device information' } },
    '/configuration/wan/wans': { get: {}, post: {}, put: {}, delete: {}, parameters: [] },
    'no path': { get: {} },
    '/odd': null,
  },
};

test('parseApiDescription() lists every call with its method, path and summary', () => {
  expect(parseApiDescription(JSON.stringify(description))).toEqual({
    title: 'icom OS - REST API',
    version: '9.5',
    calls: [
      { method: 'GET', path: '/status/device_info', summary: 'Device information' },
      ...['GET', 'POST', 'PUT', 'DELETE'].map((method) => ({
        method,
        path: '/configuration/wan/wans',
        summary: undefined,
      })),
    ],
  });
});

test.each(['', '{', '[]', '{}', '{"openapi":"2.0","paths":{}}', '{"openapi":"3.0.3"}'])(
  'parseApiDescription() throws parse for %j',
  (text) => {
    expect(() => parseApiDescription(text)).toThrow(
      expect.objectContaining({ code: 'parse', disposition: 'operator' }),
    );
  },
);

test('parseApiDescription() throws nothing but parse, whatever the paths hold', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (paths) => {
      const { calls } = parseApiDescription(JSON.stringify({ openapi: '3.0.3', paths }));
      expect(calls.every(({ path }) => path.startsWith('/'))).toBe(true);
    }),
  );
});
