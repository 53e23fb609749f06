import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseListing, parseStampUtcMs } from '../../src/logs/listing/listing.ts';

const CURRENT = 'network/current';
const STAMP = '2026-11-21-08:35:58';
const LATER = '2026-11-21-09:00:00';

test('parseListing() sorts files by component, rotated ones oldest first', () => {
  const { logs, unknown } = parseListing([
    `network/log-${LATER}.bz2`,
    'system/current',
    CURRENT,
    `network/log-${STAMP}.bz2`,
    `wan/log-${STAMP}`,
  ]);
  expect(unknown).toBe(0);
  expect(logs).toEqual(
    new Map([
      [
        'network',
        {
          current: CURRENT,
          rotated: [
            { stamp: STAMP, name: `network/log-${STAMP}.bz2` },
            { stamp: LATER, name: `network/log-${LATER}.bz2` },
          ],
        },
      ],
      ['system', { current: 'system/current', rotated: [] }],
      ['wan', { current: undefined, rotated: [{ stamp: STAMP, name: `wan/log-${STAMP}` }] }],
    ]),
  );
});

test.each(['.bz2', '.gz', '.xz', '.Z'])(
  'parseListing() takes the plain and the %s form of one stamp for one file',
  (suffix) => {
    const plain = `network/log-${STAMP}`;
    for (const names of [
      [plain, plain + suffix],
      [plain + suffix, plain],
    ]) {
      expect(parseListing(names).logs.get('network')?.rotated).toEqual([{ stamp: STAMP, name: plain + suffix }]);
    }
  },
);

test.each([
  '../x',
  '../network/current',
  'network/../current',
  'a/b/c',
  'a/b/current',
  '/current',
  'current',
  'network/',
  'network/current.bz2',
  'network/core.gz',
  '.ssh/current',
  '-rf/current',
  'net work/current',
  'network/current\n',
  'network\n/current',
  'network\u0000/current',
  'net%2fwork/current',
  'nätwork/current',
  `${'n'.repeat(65)}/current`,
  'network/log-2026-11-21',
  'network/log-2026-11-21 08:35:58.bz2',
  `network/log-${STAMP}.zip`,
  `network/log-${STAMP}.bz2.bz2`,
  `network/log-${STAMP}/`,
  '',
])('parseListing() counts %j as unknown, and it is never asked for', (name) => {
  const { logs, unknown } = parseListing([CURRENT, name]);
  expect(unknown).toBe(1);
  expect([...logs.keys()]).toEqual(['network']);
  expect(logs.get('network')).toEqual({ current: CURRENT, rotated: [] });
});

test('parseListing() takes components whose names mean something to JavaScript like any other', () => {
  const names = ['constructor', '__proto__', 'toString', 'hasOwnProperty'];
  const { logs, unknown } = parseListing(names.map((name) => `${name}/current`));
  expect(unknown).toBe(0);
  expect([...logs.keys()]).toEqual(names);
});

test('parseListing() takes no more components than any router has', () => {
  const names = Array.from({ length: 1000 }, (_, index) => `c${index}/current`);
  const { logs, unknown } = parseListing([...names, `c0/log-${STAMP}`]);
  expect(logs.size).toBe(256);
  expect(unknown).toBe(744);
  expect(logs.get('c0')?.rotated).toHaveLength(1);
});

test('parseListing() gives the same for any order and repetition of the names', () => {
  const stamps = fc.constantFrom(STAMP, LATER, '1970-01-01-00:00:07', '2036-02-07-06:28:15');
  const name = fc.oneof(
    fc
      .tuple(fc.constantFrom('network', 'system'), stamps, fc.constantFrom('', '.bz2', '.gz', '.xz', '.Z'))
      .map(([component, stamp, suffix]) => `${component}/log-${stamp}${suffix}`),
    fc.constantFrom('network/current', 'system/current'),
  );
  const listings = fc
    .uniqueArray(name, { minLength: 1, maxLength: 20 })
    .chain((names) =>
      fc.tuple(fc.constant(names), fc.shuffledSubarray([...names, ...names], { minLength: 2 * names.length })),
    );
  fc.assert(
    fc.property(listings, ([names, shuffled]) => {
      expect(Object.fromEntries(parseListing(shuffled).logs)).toEqual(Object.fromEntries(parseListing(names).logs));
    }),
  );
});

test('parseListing() never throws, and gives no name that was not listed', () => {
  const name = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom(...Array.from('ab./-:0128 log\ncurrent')) }),
    fc
      .tuple(fc.string(), fc.constantFrom('/current', `/log-${STAMP}`, `/log-${STAMP}.bz2`))
      .map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(fc.array(name), (names) => {
      const { logs, unknown } = parseListing(names);
      const given = [...logs.values()].flatMap(({ current, rotated }) => [
        ...(current === undefined ? [] : [current]),
        ...rotated.map((file) => file.name),
      ]);
      for (const each of given) expect(names).toContain(each);
      expect(given.length + unknown).toBeLessThanOrEqual(names.length);
    }),
  );
});

test('parseListing() counts rotated files whose name is no moment as unknown', () => {
  const stamps = ['2026-13-01-00:00:00', '2026-01-32-00:00:00', '2026-01-01-24:00:00', '2026-01-01-00:60:00'];
  const names = [...stamps, '2026-01-01-00:00:61', '2026-00-01-00:00:00', '0026-01-01-00:00:00'];
  expect(parseListing(names.map((stamp) => `network/log-${stamp}.bz2`))).toEqual({ logs: new Map(), unknown: 7 });
  const { logs } = parseListing(['network/log-2016-12-31-23:59:60.bz2']);
  expect(logs.get('network')?.rotated).toHaveLength(1);
});

test('parseStampUtcMs() reads the moment in a name as UTC', () => {
  expect(parseStampUtcMs(STAMP)).toBe(Date.UTC(2026, 10, 21, 8, 35, 58));
  // A leap second is the next minute.
  expect(parseStampUtcMs('2026-12-31-23:59:60')).toBe(Date.UTC(2027, 0, 1));
});
