import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DocumentMasker } from '../../src/status/index.ts';
import { measureProcessorMs } from '../support/processor-time.ts';
import { countRuns } from '../support/sampled.ts';
import { mapWith, SHIPPED } from './discovery-support.ts';
import { GOLDEN_NAMES, type GoldenDocuments } from './golden-documents.ts';

const mask = (document: unknown) => new DocumentMasker([document]).mask(document);
/** A text in a field with a neutral name. */
const maskText = (text: string) => (mask({ note_: 0, info: text }) as { info: string }).info;

describe('DocumentMasker', () => {
  test('finds known secrets in other texts, however many sensitive texts a router answers', () => {
    const many = Array.from({ length: 1100 }, (_, index) => ({ hostname: `a-long-name-of-a-host-${index}` }));
    const document = { list: many, info: 'joined with Tr0ub4dor' };
    const masker = new DocumentMasker([document], { token: ['Tr0ub4dor'] });
    expect(JSON.stringify(masker.mask(document))).not.toContain('Tr0ub4dor');
  });

  test.each([
    ['serial_number', '16002243', '00000001'],
    ['IMEI', '353830214291112', '000000000000001'],
    ['imsi', '262017363584044', '000000000000001'],
    ['USIM', '89493168898349627850', '00000000000000000001'],
    ['ICCID', '8949-3168', '0000-0001'],
    ['msisdn', '491701234567', '000000000001'],
    ['phoneNumber', '0170/1234567', '0000/0000001'],
    ['mac', '00:05:b6:7d:6d:7a', '00:00:00:00:00:01'],
    ['mac_address', '0005b67d6d7a', '000000000001'],
    ['ip_address', '192.168.1.1/24', '198.18.0.1/24'],
    ['gateway', 'fe80::1%eth0', 'fe80::2%masked-1'],
    ['hostname', 'sim-24', 'masked-1'],
    ['location', 'Halle 3, Leipzig', 'masked-1'],
    ['ssid', 'Büro', 'masked-1'],
    ['cell_id', '9388102', '0000001'],
    ['location_id', '91D5', 'masked-1'],
    ['lac', '0x91D5', 'masked-1'],
    ['TAC', '4711', '0001'],
    ['latitude', '48.1372', '00.0001'],
    ['gps', '4808.2320,N', 'masked-1'],
    ['password', 'correct horse', 'masked-1'],
    ['wpa_psk', 'correct horse', 'masked-1'],
    ['apiKey', 'abc', 'masked-1'],
    ['PIN', '1234', '0001'],
    ['apn_user', 'someone', 'masked-1'],
    ['email', 'a@b', 'user1@example.net'],
  ])('masks a text in the field %s, and keeps what kind it is', (name, text, masked) => {
    expect(mask({ [name]: text })).toEqual({ [name]: masked });
  });

  test.each([
    ['ip 192.168.1.1 up', 'ip 198.18.0.1 up'],
    ['10.0.0.1:8080', '198.18.0.1:8080'],
    ['net 2003:a:b:c::1/64', 'net 2001:db8::1/64'],
    ['inet6 addr:fe80::205:b6ff:fe00:cc', 'inet6 addr:fe80::1'],
    ['2003:a:b:c::1.443', '2001:db8::1.443'],
    ['00-05-B6-7D-6D-7A', '00-00-00-00-00-01'],
    ['0005.b67d.6d7a', '0000.0000.0001'],
    ['card 353830214291112.', 'card 000000000000001.'],
    ['35-383021-429111-2', '00-000000-000000-1'],
    ['token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_1', 'token masked-1'],
    ['Authorization: Bearer abcdefghijklmnopqrst', 'Authorization: masked-1'],
    ['sent Bearer abcdefghijklmnopqrst', 'sent Bearer masked-1'],
    [
      '-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----',
      '-----BEGIN MASKED-----\nmasked-1\n-----END MASKED-----',
    ],
    ['-----BEGIN PRIVATE KEY-----\nMIIB', '-----BEGIN MASKED-----\nmasked-1\n-----END MASKED-----'],
    ['to someone@example.org', 'to user1@example.net'],
    ['https://me:pw@vpn.firm.de:8443/a', 'https://masked-1@host1.example.net:8443/a'],
    ['http://intranet/a', 'http://masked-1/a'],
    ['vpn.firm.de is down', 'host1.example.net is down'],
    ['Telekom.de', 'host1.example'],
    ['call +49 170 1234567', 'call +00 000 0000001'],
    ['at 48.13722, 11.57549', 'at 00.00000, 00.00001'],
    [`48°8'14"N`, `00°0'01"N`],
    ['5d41402abc4b2a76b9719d911017c592', '00000000000000000000000000000001'],
    ['6fa459ea-ee8a-3ca4-894e-db77e160355e', '00000000-0000-0000-0000-000000000001'],
    ['kL9+/aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789abc=', 'masked-1'],
    ['psk=correct-horse, band=20', 'psk=masked-1, band=20'],
    ['{"imei":"35383021","band":20}', '{"imei":"00000001","band":20}'],
    ['?token=abc&page=2', '?token=masked-1&page=2'],
  ])('masks %j in a field whose name tells nothing', (text, masked) => {
    expect(maskText(text)).toBe(masked);
  });

  test.each([
    ...[
      '',
      '---',
      '0',
      '5.5',
      '9.5',
      '23.75 V',
      '-83 dBm',
      '51392 kbit/s',
      '3 days, 04:05',
      '04:05:06',
      '0.12 0.10 0.09',
    ],
    ...[
      '2026-11-21 10:30:00',
      'Sat Nov 21 09:00:00 CET 2026',
      '120 / 256 MB',
      '3098758774',
      'SIM missing or SIM failure',
    ],
    ...['net1', 'openvpn1', 'serial2.1', 'V+1', 'HSPA+', 'M3CPU', '0.0.0.0', '127.0.0.1', '255.255.255.0', '::', '::1'],
    ...['Not available at the moment', 'wan1: online', 'pin_retries=3', '1.3.6', 'c37b159c'],
  ])('leaves %j alone in a field whose name tells nothing', (text) => {
    expect(maskText(text)).toBe(text);
  });

  test.each([
    ['pin_state', 'PIN ok'],
    ['pin_retries', '3'],
    ['sim_state', 'SIM ready'],
    ['ip_packets_rx', '8837482'],
    ['address_family', 'IPv4'],
    ['gateway', '---'],
    ['IMEI', ''],
    ['cell_id', '0'],
    ['location', 'Not available at the moment'],
    ['dns', 'auto'],
  ])('leaves a word or a number about the thing in %s alone', (name, text) => {
    expect(mask({ [name]: text })).toEqual({ [name]: text });
  });

  test('does not take a long number for a count because of its name', () => {
    expect(mask({ pin_retries: '12345', imei_count: '353830214291112' })).toEqual({
      pin_retries: '00001',
      imei_count: '000000000000001',
    });
  });

  test('keeps numbers numbers, of the same length', () => {
    const document = {
      serial: 16002243,
      pin: 1234,
      lat: 48.1372,
      lon: -11.5,
      other: 353830214291112,
      load: 0.08,
      rows: 7,
    };
    const masked = mask(document) as typeof document;
    expect(masked).toMatchObject({ load: 0.08, rows: 7 });
    const lengths = (values: object) => Object.values(values).map((value) => String(value).length);
    expect(lengths(masked)).toEqual(lengths(document));
    for (const name of ['serial', 'pin', 'lat', 'lon', 'other'] as const) {
      expect(typeof masked[name]).toBe('number');
      expect(masked[name]).not.toBe(document[name]);
    }
  });

  test('gives the same value the same mask in all documents and inside texts, and another value another one', () => {
    const documents = [
      { a: { hostname: 'plant-7', peer_ip: '10.0.0.1' }, b: { hostname: 'plant-8' } },
      { text: 'Plant-7 (10.0.0.1) and plant-77, plant-8', 'plant-7': 1, serial: 'A-1', same: 'plant-7' },
    ];
    const masker = new DocumentMasker(documents);
    expect(documents.map((document) => masker.mask(document))).toEqual([
      { a: { hostname: 'masked-1', peer_ip: '198.18.0.1' }, b: { hostname: 'masked-2' } },
      { text: 'masked-1 (198.18.0.1) and plant-77, masked-2', 'masked-1': 1, serial: 'masked-3', same: 'masked-1' },
    ]);
  });

  test('never takes for a mask what is a value itself', () => {
    const document = { hostname: ['masked-1', 'plant-7'], ip: ['198.18.0.1', '10.0.0.1'], mac: ['00:00:00:00:00:01'] };
    expect(mask(document)).toEqual({
      hostname: ['masked-2', 'masked-3'],
      ip: ['198.18.0.2', '198.18.0.3'],
      mac: ['00:00:00:00:00:02'],
    });
  });

  test('has masks for more values than their form allows', () => {
    const document = {
      pin: Array.from({ length: 12 }, (_none, index) => String(((index * 7) % 12) % 10)),
      cell: [1, 2, 3, 4, 5, 6, 7, 8, 9],
    };
    const masked = mask(document) as { pin: string[]; cell: number[] };
    expect(new Set(masked.pin).size).toBe(new Set(document.pin).size);
    expect(masked.cell.every((cell) => cell > 9)).toBe(true);
  });

  test('masks everything below a field that identifies a person or place, and names of fields that are addresses', () => {
    expect(
      mask({
        location: { street: 'Hauptstraße 5', rooms: [12] },
        '10.0.0.1': { up: true },
        '10.0.0.2': 1,
        secret: [[null, 'x1']],
      }),
    ).toEqual({
      location: { street: 'masked-1', rooms: [11] },
      '198.18.0.1': { up: true },
      '198.18.0.2': 1,
      secret: [[null, 'masked-2']],
    });
  });

  test('masks the value of a pair whose name says what it is', () => {
    expect(
      mask([
        { name: 'wifi_password', value: 'abc' },
        { p: 'band', v: '20' },
        { name: 'serial2', state: 'on line' },
      ]),
    ).toEqual([
      { name: 'wifi_password', value: 'masked-1' },
      { p: 'band', v: '20' },
      { name: 'serial2', state: 'on line' },
    ]);
  });

  test('changes neither the document nor its answer when it is asked again', () => {
    const document = { imei: '353830214291112', list: [{ ip: '10.0.0.1' }] };
    const before = structuredClone(document);
    const masker = new DocumentMasker([document]);
    expect(masker.mask(document)).toEqual(masker.mask(document));
    expect(document).toEqual(before);
  });

  test('is bounded in depth, values and length of texts', () => {
    let deep: unknown = 'end';
    for (let level = 0; level < 10_000; level++) deep = [deep];
    expect(JSON.stringify(mask(deep))).toContain('[left out]');
    const many = mask(Array.from({ length: 110_000 }, () => '10.0.0.1')) as string[];
    expect(many.length).toBeLessThanOrEqual(100_001);
    expect(many).not.toContain('10.0.0.1');
    expect(mask({ a: 'x'.repeat(9000), ['10.0.0.1 '.repeat(3000)]: 1 })).toEqual({ a: '[left out]', '[left out]': 1 });
  });

  test.each([
    ['hexadecimal', 'a'.repeat(8000)],
    ['colons', ':'.repeat(8000)],
    ['hexadecimal and colons', 'ab:'.repeat(2600)],
    ['dots', 'a.'.repeat(4000)],
    ['digits and dashes', '1-'.repeat(4000)],
    ['at signs', '@a'.repeat(4000)],
    ['keys', 'key='.repeat(2000)],
    ['plus signs', '+1 '.repeat(2600)],
    ['beginnings', '-----BEGIN A'.repeat(650)],
    ['names', 'plant-7 '.repeat(1000)],
  ])('takes no long time for a long text of %s', (_name, text) => {
    const texts = Object.fromEntries(Array.from({ length: 5 }, (_none, index) => [`f${index}`, text]));
    expect(measureProcessorMs(() => void mask({ hostname: 'plant-7', ...texts }))).toBeLessThan(1000);
  });

  test('leaves golden documents such that the shipped modules read the same numbers from them', () => {
    for (const name of GOLDEN_NAMES) {
      const file = new URL(`../golden/${name}.json`, import.meta.url);
      const documents = JSON.parse(readFileSync(file, 'utf8')) as GoldenDocuments;
      const masker = new DocumentMasker(Object.values(documents));
      for (const [resource, document] of Object.entries(documents)) {
        const before = mapWith(SHIPPED, resource, document);
        const after = mapWith(SHIPPED, resource, masker.mask(document));
        // The hash of the configuration is masked, and then no number.
        const isKept = (metric: string) => metric !== 'router_config_hash';
        expect(after.faults.filter(({ metric }) => isKept(metric))).toEqual(before.faults);
        const numbers = ({ series }: typeof before) =>
          Object.entries(series).flatMap(([family, samples]) =>
            isKept(family) ? [[family, samples.map(({ value }) => value)]] : [],
          );
        expect(numbers(after)).toEqual(numbers(before));
      }
    }
  });

  test('leaves no identity of a golden document in it', () => {
    for (const name of GOLDEN_NAMES) {
      const text = readFileSync(new URL(`../golden/${name}.json`, import.meta.url), 'utf8');
      const identities = [
        ...text.matchAll(
          /"(?:serial_number|hostname|IMEI|IMSI|USIM|cell_id|location|ip_address|mac\w*)": "([^"]{2,})"/g,
        ),
      ];
      const masked = JSON.stringify(mask(JSON.parse(text)));
      expect(identities.length).toBeGreaterThan(5);
      for (const [, identity = ''] of identities) {
        const pattern = identity.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
        expect(masked).not.toMatch(new RegExp(`(?<![\\w.:-])${pattern}(?![\\w:-])`));
      }
    }
  });
});

/** Planted where anybody could put them. Each has a form that shows what it is, or stands in a field whose name does. */
const digits = (length: number) => fc.stringMatching(new RegExp(`^[1-9]\\d{${length - 1}}$`));
const hexPair = fc.integer({ min: 0, max: 255 }).map((number) => number.toString(16).padStart(2, '0'));
const octet = fc.integer({ min: 1, max: 254 });
const word = fc.stringMatching(/^[a-z]{4}[A-Z0-9]{6,10}$/);
const byForm = fc.oneof(
  fc.integer({ min: 14, max: 20 }).chain(digits),
  fc
    .tuple(fc.integer({ min: 11, max: 197 }), octet, octet, octet)
    .filter(([first]) => first !== 127)
    .map((parts) => parts.join('.')),
  fc.array(hexPair, { minLength: 6, maxLength: 6 }).map((pairs) => pairs.join(':')),
  fc
    .array(fc.integer({ min: 1, max: 65_535 }), { minLength: 8, maxLength: 8 })
    .map((groups) => groups.map((group) => group.toString(16)).join(':')),
  word.map((name) => `${name}@mail.test`),
  word.map((name) => `vpn.${name}.de`),
  word.map((name) => `eyJ${name}.${name}.${name}`),
  word.map((name) => `-----BEGIN KEY-----\n${name}\n-----END KEY-----`),
);
const nameOfSecret = fc.constantFrom(
  ...[
    'serial',
    'serial_number',
    'IMEI',
    'imsi',
    'iccid',
    'USIM',
    'mac',
    'MACAddress',
    'ip',
    'address',
    'password',
    'wpa_psk',
  ],
  ...[
    'private-key',
    'secret',
    'access_token',
    'pin',
    'apn_user',
    'ssid',
    'hostname',
    'location',
    'phone',
    'cell_id',
    'lac',
  ],
);
const byName = fc.oneof(
  word,
  digits(8),
  word.map((name) => `${name} ${name}2`),
);
const separator = fc.constantFrom(' ', ', ', ' (', '; ', '/', '\n', '"', ' = ');

interface Planted {
  readonly value: unknown;
  readonly secrets: readonly string[];
}

const plain: fc.Arbitrary<Planted> = fc
  .oneof(fc.string({ maxLength: 12 }), fc.integer({ min: -1000, max: 1000 }), fc.boolean(), fc.constant(null))
  .map((value) => ({ value, secrets: [] }));
const shown: fc.Arbitrary<Planted> = fc
  .tuple(fc.constantFrom('', 'state', 'up'), separator, byForm, separator, fc.constantFrom('', 'now'))
  .map(([before, first, secret, second, after]) => ({
    value: before + first + secret + second + after,
    secrets: [secret],
  }));
const named: fc.Arbitrary<Planted> = fc
  .tuple(nameOfSecret, byName, fc.constantFrom('text', 'list', 'below', 'assignment', 'pair'))
  .map(([name, secret, how]) => {
    const forms = {
      text: { [name]: secret },
      list: { [name]: [[secret]] },
      below: { [name]: { x: { y: secret } } },
      assignment: { line: `a=1, ${name}=${secret}` },
      pair: { name, value: secret },
    };
    return { value: forms[how], secrets: [secret] };
  });
const fieldName = fc.oneof(fc.stringMatching(/^[a-z]{1,6}$/), fc.string({ maxLength: 6 }), fc.constant('__proto__'));
const { tree } = fc.letrec<{ tree: Planted }>((tie) => ({
  tree: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.oneof(plain, shown, named),
    fc.array(tie('tree'), { maxLength: 4 }).map(
      (items): Planted => ({
        value: items.map(({ value }) => value),
        secrets: items.flatMap(({ secrets }) => secrets),
      }),
    ),
    fc.array(fc.tuple(fc.oneof(fieldName, byForm), tie('tree')), { maxLength: 4 }).map((fields): Planted => {
      const kept = new Map(fields);
      return {
        value: Object.fromEntries([...kept].map(([name, { value }]) => [name, value])),
        secrets: [...kept].flatMap(([name, { secrets }]) =>
          name.length > 6 && name !== '__proto__' ? [name, ...secrets] : secrets,
        ),
      };
    }),
  ),
}));

describe('planted secrets', () => {
  test('survive nowhere in the masked documents, whatever the documents', () => {
    fc.assert(
      fc.property(fc.array(tree, { minLength: 1, maxLength: 4 }), (planted) => {
        const documents = planted.map(({ value }) => value);
        const masker = new DocumentMasker(documents);
        const texts = documents.flatMap((document) => listTexts(masker.mask(document)));
        for (const secret of planted.flatMap(({ secrets }) => secrets)) {
          for (const text of texts) expect(text.toLowerCase()).not.toContain(secret.toLowerCase());
        }
      }),
      { numRuns: countRuns(1000) },
    );
  });

  test('survive nowhere else either when a field has given them away', () => {
    fc.assert(
      fc.property(nameOfSecret, byName, separator, tree, (name, secret, around, { value }) => {
        const documents = [
          { elsewhere: [`was${around}${secret}${around}then`, secret, { [secret]: 1 }] },
          value,
          { [name]: secret },
        ];
        const masker = new DocumentMasker(documents);
        for (const text of documents.flatMap((document) => listTexts(masker.mask(document)))) {
          expect(text.toLowerCase()).not.toContain(secret.toLowerCase());
        }
      }),
      { numRuns: countRuns(1000) },
    );
  });
});

/** Every text of a document, names of fields included. */
function listTexts(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [String(value)];
  if (Array.isArray(value)) return value.flatMap(listTexts);
  return Object.entries(value).flatMap(([name, item]) => [name, ...listTexts(item)]);
}
