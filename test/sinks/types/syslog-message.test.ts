import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { LogRecord } from '../../../src/model/index.ts';
import { renderSyslogMessage } from '../../../src/sinks/types/syslog/message.ts';
import { sampleRecord } from '../../support/sinks/sample-records.ts';
import { parseSyslogMessage } from '../../support/sinks/syslog-message.ts';

type Options = Parameters<typeof renderSyslogMessage>[1];

const options: Options = { facility: 16, appName: 'router-exporter', messageBytesMax: 8192 };
const record = (fields: Partial<LogRecord> = {}) => sampleRecord('u1', fields).fields;
const render = (fields: Partial<LogRecord> = {}, own: Partial<Options> = {}, isReplay = false) =>
  renderSyslogMessage(record(fields), { ...options, ...own }, isReplay);
const parse = (...args: Parameters<typeof render>) => parseSyslogMessage(render(...args));

describe('renderSyslogMessage()', () => {
  test('writes a record as RFC 5424 has it', () => {
    expect(render({ severity: 'error', message: 'wan1: down' }).toString()).toBe(
      '<131>1 2025-10-26T00:59:58.000018Z plant-7 router-exporter - network ' +
        '[timeQuality tzKnown="1" isSynced="1"]' +
        '[record@0 uid="u1" component="network" tag="wan" file="network/current" offset="18231" observed="2025-10-26T01:00:31.412Z"]' +
        '[labels@0 site="munich"] wan1: down',
    );
  });

  test('leaves out what a record does not have', () => {
    const { tag: _tag, labels: _labels, timestamp: _timestamp, ...bare } = record({ message: '' });
    expect(renderSyslogMessage(bare, options).toString()).toBe(
      '<133>1 - plant-7 router-exporter - network ' +
        '[record@0 uid="u1" component="network" file="network/current" offset="18231" observed="2025-10-26T01:00:31.412Z"] ',
    );
  });

  test.for([
    ['emergency', 0],
    ['alert', 1],
    ['critical', 2],
    ['error', 3],
    ['warning', 4],
    ['notice', 5],
    ['info', 6],
    ['debug', 7],
    [undefined, 5],
  ] as const)('gives severity %s the number %i', ([severity, number]) => {
    const fields = severity ? { severity } : {};
    expect(parse(fields, { facility: 23 })).toMatchObject({ severity: number, facility: 23 });
  });

  test.for([
    ['2025-10-26T00:59:58.123456789Z', '2025-10-26T00:59:58.123456Z'],
    ['2025-10-26T00:59:60.000000000Z', '-'],
    ['yesterday', '-'],
    ['2025-10-26T00:59:58.000000000Z\nx', '-'],
  ] as const)('writes the time %j as %s', ([timestamp, expected]) => {
    expect(parse({ timestamp }).timestamp).toBe(expected);
  });

  test.for([
    [[], '1', '1'],
    [['zone_assumed'], '0', '1'],
    [['unsynced'], '1', '0'],
    [['clock_uncertain', 'zone_assumed'], '0', '0'],
    [['late'], '1', '1'],
  ] as const)(
    'says of the time of a record with the flags %j tzKnown %s, isSynced %s',
    ([flags, tzKnown, isSynced]) => {
      const { data } = parse({ flags });
      expect(data['timeQuality']).toEqual({ tzKnown, isSynced });
      expect(data['record@0']?.['flags']).toBe(flags.length > 0 ? flags.join(',') : undefined);
    },
  );

  test('writes events with their details', () => {
    const { data } = parse({ event: 'log.gap', details: { bytes: 7, certainty: 'likely', until: null } });
    expect(data['record@0']).toMatchObject({
      event: 'log.gap',
      details: '{"bytes":7,"certainty":"likely","until":null}',
    });
  });

  test('lets nothing that a router says end a field, an element or the message', () => {
    const evil = 'a"b\\c]d\r\n<0>1 - - - - - - \u0085 e\u0000';
    const message = parse({
      router: 'pl ant\n7',
      component: `${'x'.repeat(31)}\n]`,
      tag: evil,
      file: evil,
      labels: { 'si te="]': evil, ['n'.repeat(40)]: 'long' },
      message: evil,
    });
    const escaped = 'a"b\\c]d??<0>1 - - - - - - ? e?';
    expect(message).toMatchObject({
      hostname: 'pl_ant_7',
      msgId: `${'x'.repeat(31)}_`,
      data: {
        'record@0': { tag: escaped, file: escaped },
        'labels@0': { si_te___: escaped, ['n'.repeat(32)]: 'long' },
      },
      text: evil,
      hasBom: true,
    });
    expect(parse({ router: '', component: '' })).toMatchObject({ hostname: '-', msgId: '-' });
    expect(parse({ router: 'r'.repeat(300) }, { appName: 'a'.repeat(60) })).toMatchObject({
      hostname: 'r'.repeat(255),
      appName: 'a'.repeat(48),
    });
  });

  test('marks a message that is not ASCII with a BOM, and no other', () => {
    expect(parse({ message: 'Übertragung' })).toMatchObject({ text: 'Übertragung', hasBom: true });
    expect(parse({ message: 'transfer' })).toMatchObject({ text: 'transfer', hasBom: false });
    expect(parse({ message: 'ASCII', labels: { site: 'Köln' } })).toMatchObject({ hasBom: false });
  });

  test('keeps line ends, because octets are counted', () => {
    expect(parse({ message: 'one\ntwo\r\n' }).text).toBe('one\ntwo\r\n');
  });

  test('marks a replay', () => {
    expect(parse({}, {}, true).data['record@0']).toMatchObject({ replayed: 'true' });
    expect(parse().data['record@0']).not.toHaveProperty('replayed');
  });

  test('cuts a long message between two characters, and says so', () => {
    const whole = { message: 'ä€😀'.repeat(1000), details: { a: 1 } };
    for (let messageBytesMax = 600; messageBytesMax < 609; messageBytesMax++) {
      const { text, data, bytes } = parse(whole, { messageBytesMax }, true);
      expect(whole.message.startsWith(text)).toBe(true);
      expect(text.isWellFormed()).toBe(true);
      expect(bytes).toBeLessThanOrEqual(messageBytesMax);
      expect(bytes).toBeGreaterThan(messageBytesMax - 4);
      expect(data).not.toHaveProperty('labels@0');
      expect(data['record@0']).toMatchObject({
        uid: 'u1',
        file: 'network/current',
        truncated: 'true',
        replayed: 'true',
      });
      expect(data['record@0']).not.toHaveProperty('details');
    }
  });

  test('cuts nothing that just fits', () => {
    const { length } = render({ message: 'x'.repeat(500) });
    expect(parse({ message: 'x'.repeat(500) }, { messageBytesMax: length }).text).toHaveLength(500);
    const cut = parse({ message: 'x'.repeat(501) }, { messageBytesMax: length });
    expect(cut.data['record@0']).toHaveProperty('truncated');
    expect(cut.bytes).toBeLessThanOrEqual(length);
  });

  test('leaves out everything but the uid when there is room for nothing else', () => {
    const fields = { file: 'f'.repeat(10_000), message: 'm'.repeat(1000) };
    const { data, bytes, text } = parse(fields, { messageBytesMax: 480 });
    expect(data).toEqual({ 'record@0': { uid: 'u1', truncated: 'true' } });
    expect(bytes).toBe(480);
    expect(text).toMatch(/^m+$/);
  });

  test('gives a message that the grammar has, of any record, within the bound, and the same one every time', () => {
    const text = fc.string({ unit: 'binary', maxLength: 300 });
    const records = fc.record(
      {
        timestamp: fc.oneof(text, fc.constant('2025-10-26T00:59:58.000018231Z')),
        router: text,
        component: text,
        tag: text,
        message: text,
        file: text,
        labels: fc.dictionary(text, text, { maxKeys: 3 }),
        flags: fc.subarray<'late' | 'unsynced'>(['late', 'unsynced']),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(records, fc.integer({ min: 480, max: 2000 }), (fields, messageBytesMax) => {
        const bytes = render(fields, { messageBytesMax });
        expect(parseSyslogMessage(bytes).data['record@0']).toHaveProperty('uid');
        expect(bytes.length).toBeLessThanOrEqual(messageBytesMax);
        expect(render(fields, { messageBytesMax })).toEqual(bytes);
      }),
    );
  });
});
