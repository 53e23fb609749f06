import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ValueForm } from '../../../src/status/index.ts';
import { readValue, type ValueReading } from '../../../src/status/values/parse-value.ts';
import { DeclaredUnit } from '../../../src/status/values/quantities.ts';
import { measureProcessorMs } from '../../support/processor-time.ts';

/** 09:00 in Berlin. */
const READ_AT_MS = Date.UTC(2026, 10, 21, 8);

interface Format {
  readonly form?: ValueForm;
  readonly unit?: string;
  readonly part?: number;
  readonly hasBinaryPrefixes?: boolean;
  readonly zone?: string | undefined;
}

function read(text: string, format: Format = {}): ValueReading {
  const { form, unit, part = 1, zone = 'Europe/Berlin', hasBinaryPrefixes } = format;
  const declared = unit === undefined ? undefined : new DeclaredUnit(unit, hasBinaryPrefixes);
  return readValue(text, { form, unit: declared, part }, { readAtMs: READ_AT_MS, zone });
}

describe('without a form', () => {
  test.for<[string, ValueReading]>([
    ['42', 42],
    [' 42 ', 42],
    ['-3.5', -3.5],
    ['+7', 7],
    ['.5', 0.5],
    ['5.', 5],
    ['1.5e3', 1500],
    ['2E-2', 0.02],
    ['\u221271', -71],
    ['0x1F', 31],
    ['-0X10', -16],
    ['12 %', 0.12],
    ['57%', 0.57],
    ['3 days, 04:05', 273_900],
    ['3600 s', 3600],
    ['2026-11-21 09:00:00', 1_795_248_000],
  ])('%j is read as what it looks like', ([text, value]) => {
    expect(read(text)).toBe(value);
  });

  test.for(['high', 'net1', '1.2.3.4', 'NaN', 'Infinity', '1,234.5', '--5', '10.1.0.3/24', ''])(
    '%j is no form that is known',
    (text) => {
      expect(read(text)).toBe('unknown_form');
    },
  );

  test.for(['23.75 V', '12 foo', '7 MB', '0xZZ'])('%j has a unit that was not declared', (text) => {
    expect(read(text)).toBe('unknown_unit');
  });

  test('several numbers are no value, because nothing says which of them', () => {
    expect([read('0.1 0.2'), read('120 / 256')]).toEqual(['unknown_form', 'unknown_form']);
  });
});

describe('with a unit', () => {
  test.for<[string, string, ValueReading]>([
    ['23.75 V', 'V', 23.75],
    ['23.75V', 'V', 23.75],
    ['23.75', 'V', 23.75],
    ['3300 mV', 'V', 3.3],
    ['1.2 kV', 'V', 1200],
    ['1.5 MV', 'V', 1_500_000],
    ['4.56 mA', 'A', 0.00456],
    // A division alone gives 0.010230000000000001.
    ['10.23 mA', 'A', 0.01023],
    ['0.7 %', '%', 0.007],
    ['8.2 kV', 'V', 8200],
    ['4.35 MB', 'B', 4_350_000],
    ['1.1 h', 's', 3960],
    ['9007199254740991 B', 'B', 9_007_199_254_740_991],
    ['0.1234567890123456 V', 'V', 0.1234567890123456],
    ['12 µA', 'A', 0.000012],
    ['12 uA', 'A', 0.000012],
    ['2 kW', 'W', 2000],
    ['868 MHz', 'Hz', 868_000_000],
    ['-71 dBm', 'dBm', -71],
    ['-71 dbm', 'dBm', -71],
    ['-9 dB', 'dB', -9],
    ['38.5 °C', '°C', 38.5],
    ['38.5 ° C', '°C', 38.5],
    ['38 C', '°C', 38],
    ['-4 ℃', '°C', -4],
    ['512 B', 'B', 512],
    ['512 bytes', 'B', 512],
    ['4 kB', 'B', 4000],
    ['4 KB', 'B', 4000],
    ['4 KiB', 'B', 4096],
    ['2 MB', 'B', 2_000_000],
    ['2 MByte', 'B', 2_000_000],
    ['1 GiB', 'B', 1_073_741_824],
    ['16 bit', 'B', 2],
    ['100 Mbit/s', 'B/s', 12_500_000],
    ['100 mbit/s', 'B/s', 12_500_000],
    ['54 Mbps', 'B/s', 6_750_000],
    ['51392 kbit/s', 'bit/s', 51_392_000],
    ['8 B/s', 'bit/s', 64],
    ['250 ms', 's', 0.25],
    ['5 min', 's', 300],
    ['2 h', 's', 7200],
    ['3 d', 's', 259_200],
    ['7', 'h', 25_200],
    ['45 %', '%', 0.45],
    ['45', '%', 0.45],
    ['12', 'mA', 0.012],
    ['3', 'kB', 3000],
    ['0x20', 'V', 32],
  ])('%j in %s is %d', ([text, unit, value]) => {
    expect(read(text, { unit })).toBe(value);
  });

  test('the unit "s" also takes durations in words and clocks', () => {
    expect([read('1d 2h', { unit: 's' }), read('01:00:00', { unit: 's' })]).toEqual([93_600, 3600]);
  });

  test('a number of another unit, or a value of another form, is left to another metric', () => {
    expect(read('12 mA', { unit: 'V' })).toBe('other_form');
    expect(read('45 %', { unit: 'B' })).toBe('other_form');
    expect(read('120 / 256 MB', { unit: 'B' })).toBe('other_form');
    expect(read('2026-11-21 09:00:00', { unit: 'V' })).toBe('other_form');
    expect(read('3 days', { unit: 'V' })).toBe('other_form');
  });

  test('an unknown unit is a fault, and so is a text that is not a number', () => {
    expect([read('12 foo', { unit: 'V' }), read('much', { unit: 'V' })]).toEqual(['unknown_unit', 'unknown_form']);
  });

  test('has no digits that the text does not have, whatever the prefix', () => {
    const prefixes = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T'];
    const exponents = new Map(prefixes.map((prefix, index) => [prefix, -9 + 3 * index]));
    const units = ['V', 'A', 'W', 'Hz'];
    const digits = fc.integer({ min: 1, max: 999_999_999_999 });
    const places = fc.integer({ min: 0, max: 9 });
    fc.assert(
      fc.property(
        fc.constantFrom(...prefixes),
        fc.constantFrom(...units),
        digits,
        places,
        (prefix, unit, number, at) => {
          const text = `${number}e-${at}`;
          const exact = Number(`${number}e${(exponents.get(prefix) ?? 0) - at}`);
          expect(read(`${text} ${prefix}${unit}`, { unit })).toBe(exact);
        },
      ),
    );
  });

  test('prefixes of bytes are powers of 1024 where the metric says so', () => {
    const bytes = (text: string, unit = 'B') => read(text, { unit, hasBinaryPrefixes: true });
    expect([bytes('256 MB'), bytes('4 kB'), bytes('1 GB'), bytes('4 KiB'), bytes('512 B'), bytes('512')]).toEqual([
      268_435_456, 4096, 1_073_741_824, 4096, 512, 512,
    ]);
    expect([bytes('3', 'MB'), bytes('12 V')]).toEqual([3_145_728, 'other_form']);
  });

  test('ambiguous prefixes and units of bits or bytes are not accepted', () => {
    for (const text of ['5 Mb', '5 kb/s', '5 b', '5 mb'])
      expect([text, read(text, { unit: 'B' })]).toEqual([text, 'unknown_unit']);
    expect(read('5 mv', { unit: 'V' })).toBe('unknown_unit');
  });

  test('a unit of no list means itself, with a prefix or without', () => {
    expect([read('1200 rpm', { unit: 'rpm' }), read('1.2 krpm', { unit: 'rpm' }), read('7', { unit: 'rpm' })]).toEqual([
      1200, 1200, 7,
    ]);
    expect([read('7 xrpm', { unit: 'rpm' }), read('7 V', { unit: 'rpm' })]).toEqual(['unknown_unit', 'other_form']);
  });
});

describe('with a form', () => {
  test.for<[ValueForm, string, Format, ValueReading]>([
    ['number', '0.12', {}, 0.12],
    ['number', '12 %', {}, 'other_form'],
    ['number', '0.12 0.10 0.09', {}, 'other_form'],
    ['number', '12 V', { unit: 'V' }, 12],
    ['percentage', '12 %', {}, 0.12],
    ['percentage', '0.12', {}, 'other_form'],
    ['percentage', 'idle', {}, 'unknown_form'],
    ['duration', '3600', {}, 3600],
    ['duration', '5', { unit: 'min' }, 300],
    ['duration', '3600 s', {}, 3600],
    ['duration', '04:05:06', {}, 14_706],
    ['duration', '45 %', {}, 'other_form'],
    ['duration', 'long', {}, 'unknown_form'],
    ['date', '21.11.2026 09:00:00', {}, 1_795_248_000],
    ['date', '1795248000', {}, 'other_form'],
    ['date', 'yesterday', {}, 'unknown_form'],
    ['list', '0.12 0.10 0.09', { part: 2 }, 0.1],
    ['list', '0.12, 0.10,0.09; 7', { part: 4 }, 7],
    ['list', '0,12 0,10 0,09', { part: 1 }, 'unknown_form'],
    ['list', '0.12 0.10', { part: 3 }, 'other_form'],
    ['list', '0.12', {}, 'other_form'],
    ['list', 'a b', {}, 'unknown_form'],
    ['fraction', '120 / 256 MB', { unit: 'B' }, 120_000_000],
    ['fraction', '120 / 256 MB', { unit: 'B', part: 2 }, 256_000_000],
    ['fraction', '1500 kB/2 MB', { unit: 'B' }, 1_500_000],
    ['fraction', '3/4', { part: 2 }, 4],
    ['fraction', '1 Mbit/s / 8 Mbit/s', { unit: 'B/s', part: 2 }, 1_000_000],
    ['fraction', '100 Mbit/s', { unit: 'B/s' }, 'other_form'],
    ['fraction', '1 V / 2 V', { unit: 'B' }, 'other_form'],
    ['fraction', '45 %', { unit: 'B' }, 'other_form'],
    ['fraction', 'a / b', { unit: 'B' }, 'unknown_form'],
  ])('%s of %j %o is %s', ([form, text, format, value]) => {
    expect(read(text, { ...format, form })).toBe(value);
  });

  test('clock_offset is how far a date is ahead of the clock of this machine', () => {
    const form = 'clock_offset';
    expect(read('2026-11-21 09:00:00', { form })).toBe(0);
    expect(read('2026-11-21 09:01:30', { form })).toBe(90);
    expect(read('Nov 21 08:59:58', { form })).toBe(-2);
    expect(read('45 %', { form })).toBe('other_form');
    expect(read('now', { form })).toBe('unknown_form');
  });

  test('clock_offset has no value while the zone of the router is not known, unless the date contains it', () => {
    const format = { form: 'clock_offset', zone: '' } as const;
    expect(read('2026-11-21 09:00:00', format)).toBe('no_value');
    expect(read('2026-11-21T08:00:05Z', format)).toBe(5);
  });

  test('clock_offset has no value of a day without a time', () => {
    expect(read('2026-11-21', { form: 'clock_offset' })).toBe('no_value');
    expect(read('2026-11-21', { form: 'date' })).toBe(Date.UTC(2026, 10, 20, 23) / 1000);
  });
});

test('a number beyond all bounds is not finite', () => {
  expect([read('1e999'), read(`0x${'f'.repeat(300)}`), read('-1e999 V', { unit: 'V' })]).toEqual([
    'not_finite',
    'not_finite',
    'not_finite',
  ]);
});

test('a list of more numbers than any device writes is none', () => {
  expect(read('1 '.repeat(64), { form: 'list' })).toBe(1);
  expect(read('1 '.repeat(65), { form: 'list' })).toBe('unknown_form');
});

test('readValue() gives back every number that JavaScript writes', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
      expect(read(String(number))).toBe(Number(String(number)));
    }),
  );
});

test('readValue() gives a finite number or a reason for any text, and the same again', () => {
  const forms: (ValueForm | undefined)[] = [
    undefined,
    'number',
    'percentage',
    'duration',
    'date',
    'clock_offset',
    'list',
    'fraction',
  ];
  const piece = fc.constantFrom(
    '0',
    '12',
    '.',
    ':',
    '-',
    '/',
    ' ',
    ',',
    '%',
    'd',
    'days',
    'h',
    'V',
    'MB',
    'e',
    'x',
    'Nov',
    'T',
    'Z',
    '2026',
  );
  const text = fc.oneof(
    fc.string(),
    fc.array(piece, { maxLength: 14 }).map((pieces) => pieces.join('')),
  );
  fc.assert(
    fc.property(
      text,
      fc.constantFrom(...forms),
      fc.constantFrom(undefined, 'V', 's', 'B/s', '%', 'rpm'),
      (value, form, unit) => {
        const format = { ...(form && { form }), ...(unit && { unit }) };
        const reading = read(value, format);
        expect(typeof reading === 'string' || Number.isFinite(reading)).toBe(true);
        expect(read(value, format)).toBe(reading);
      },
    ),
    { numRuns: 1000 },
  );
});

test('readValue() takes no longer for the worst text of full length than for a plain one', () => {
  const worst = [
    '1'.repeat(512),
    '1 '.repeat(256),
    '1/'.repeat(256),
    '1d'.repeat(256),
    `${'1 d,'.repeat(128)}x`,
    `${' '.repeat(511)}x`,
  ];
  const workedMs = measureProcessorMs(() => {
    for (const text of worst) for (let round = 0; round < 20; round++) read(text);
  });
  expect(workedMs).toBeLessThan(2000);
});
