import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { STATUS_RESOURCES } from '../../src/status/resources.ts';

function toFamilies(resource: string, document: unknown) {
  const found = STATUS_RESOURCES.find(({ name }) => name === resource);
  if (!found) throw new RangeError(`There is no resource ${resource}`);
  return found.toFamilies(document);
}

test('device_info becomes one sample per board, with its slot and its words', () => {
  const board = {
    board_type: 'MRX3 LTE',
    hardware_version: '1.0',
    hardware_features: '',
    firmware_version: '5.2',
    serial_number: 12345678,
    something_new: 'ignored',
  };
  const [family, ...others] = toFamilies('device_info', { status: { list: [board, { board_type: 'Card' }] } }) ?? [];
  expect(others).toEqual([]);
  expect(family).toMatchObject({ name: 'router_board_info', type: 'gauge' });
  expect(family?.samples).toEqual([
    {
      labels: {
        slot: '1',
        board_type: 'MRX3 LTE',
        hardware_version: '1.0',
        hardware_features: '',
        firmware_version: '5.2',
        serial_number: '12345678',
      },
      value: 1,
    },
    {
      labels: {
        slot: '2',
        board_type: 'Card',
        hardware_version: '',
        hardware_features: '',
        firmware_version: '',
        serial_number: '',
      },
      value: 1,
    },
  ]);
});

test('profiles become whether they were modified and activated', () => {
  const [modified, activated] =
    toFamilies('profiles', {
      profiles: [
        { name: 'Profile_1', modified: true, last_activated: false },
        { name: 'Profile_2', modified: false, last_activated: true },
        { name: 'Profile_3', modified: 'true' },
      ],
    }) ?? [];
  const values = (family: typeof modified) => family?.samples.map(({ labels, value }) => [labels['profile'], value]);
  expect(modified?.name).toBe('router_profile_modified');
  expect(values(modified)).toEqual([
    ['Profile_1', 1],
    ['Profile_2', 0],
    ['Profile_3', 0],
  ]);
  expect(activated?.name).toBe('router_profile_last_activated');
  expect(values(activated)).toEqual([
    ['Profile_1', 0],
    ['Profile_2', 1],
    ['Profile_3', 0],
  ]);
});

test('profiles with one name become one series, the last of them', () => {
  const entries = [
    { name: 'same', modified: true },
    { name: 'same', modified: false },
  ];
  expect(toFamilies('profiles', { profiles: entries })?.[0]?.samples).toEqual([
    { labels: { profile: 'same' }, value: 0 },
  ]);
});

test.each([
  ['nothing', undefined],
  ['null', null],
  ['a text', 'status'],
  ['a list', []],
  ['another object', { error: [{ status: 'x' }] }],
  ['an object instead of a list', { status: { list: {} }, profiles: {} }],
  ['what it inherits', JSON.parse('{"__proto__": {"status": {"list": []}, "profiles": []}}')],
])('a document that is %s has no known shape', (_what, document) => {
  for (const { name } of STATUS_RESOURCES) expect(toFamilies(name, document)).toBeUndefined();
});

test('an empty list is a known shape without samples', () => {
  expect(toFamilies('device_info', { status: { list: [] } })?.flatMap(({ samples }) => samples)).toEqual([]);
  expect(toFamilies('profiles', { profiles: [] })?.flatMap(({ samples }) => samples)).toEqual([]);
});

test('a list without end is looked at no further than any device could fill it', () => {
  const entries = Array.from({ length: 100_000 }, (_, index) => ({ name: `Profile_${index}` }));
  expect(toFamilies('profiles', { profiles: entries })?.[0]?.samples).toHaveLength(256);
});

test('toFamilies() is pure and never throws, whatever a router answers', () => {
  const entry = fc.oneof(
    fc.jsonValue(),
    fc.record({ name: fc.jsonValue(), board_type: fc.jsonValue(), modified: fc.jsonValue() }, { requiredKeys: [] }),
  );
  const document = fc.oneof(
    fc.jsonValue(),
    fc.record({ status: fc.record({ list: fc.oneof(fc.jsonValue(), fc.array(entry)) }), profiles: fc.array(entry) }),
  );
  fc.assert(
    fc.property(document, (body) => {
      const before = JSON.stringify(body);
      for (const { name } of STATUS_RESOURCES) {
        const families = toFamilies(name, body);
        expect(toFamilies(name, body)).toEqual(families);
        for (const { labels, value } of (families ?? []).flatMap(({ samples }) => samples)) {
          expect([0, 1]).toContain(value);
          for (const text of Object.values(labels)) expect(typeof text).toBe('string');
        }
      }
      expect(JSON.stringify(body)).toBe(before);
    }),
  );
});
