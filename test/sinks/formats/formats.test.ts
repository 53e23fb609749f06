import { describe, expect, test } from 'vitest';
import { createSteppedClock } from '../../../src/base/index.ts';
import type { LogRecord, Severity } from '../../../src/model/index.ts';
import { renderOtel, renderOtelDocument, toOtelRecord, toUnixNano } from '../../../src/sinks/otel.ts';
import { OutgoingRecord, renderEcs, renderRecord } from '../../../src/sinks/outgoing-record.ts';
import { createTestRecord } from '../../../src/sinks/preflight.ts';

const bare: LogRecord = {
  observed_timestamp: '2025-10-26T01:00:31.412Z',
  router: 'plant-7',
  component: 'network',
  message: 'half a line',
  uid: 'u-1',
  file: 'network/current',
  offset: 0,
};
const gap: LogRecord = {
  ...bare,
  flags: ['late', 'self'],
  original: 'AAE=',
  event: 'log.gap',
  details: { certainty: 'likely', lines: 12, bytes_min: null },
};
const toOutgoing = (fields: LogRecord) => new OutgoingRecord(JSON.stringify(fields));
const parse = (text: string) => JSON.parse(text) as unknown;

describe('renderEcs()', () => {
  test('leaves out what a record does not have, and takes the time of the download for a missing one', () => {
    expect(parse(renderEcs(toOutgoing(bare)))).toEqual({
      '@timestamp': '2025-10-26T01:00:31.412Z',
      ecs: { version: '8.17.0' },
      message: 'half a line',
      log: { file: { path: 'network/current' }, offset: 0 },
      event: { id: 'u-1', kind: 'event', dataset: 'router.network', created: '2025-10-26T01:00:31.412Z' },
      host: { name: 'plant-7' },
      observer: { name: 'plant-7', type: 'router' },
      agent: { type: 'router-exporter' },
      router: { component: 'network' },
    });
  });

  test('keeps events with their details, flags and original bytes', () => {
    expect(parse(renderEcs(toOutgoing(gap)))).toMatchObject({
      event: { action: 'log.gap' },
      tags: ['late', 'self'],
      router: { component: 'network', original_base64: 'AAE=', details: gap.details },
    });
  });
});

describe('toOtelRecord()', () => {
  test('leaves out what a record does not have', () => {
    expect(toOtelRecord(bare)).toEqual({
      resource: { 'service.name': 'router-exporter', 'host.name': 'plant-7' },
      timeUnixNano: undefined,
      observedTimeUnixNano: '1761440431412000000',
      eventName: undefined,
      body: 'half a line',
      attributes: {
        'log.record.uid': 'u-1',
        'log.file.path': 'network/current',
        'log.file.record_offset': 0,
        'router.component': 'network',
      },
    });
  });

  test('keeps events with the details that say something, flags and original bytes', () => {
    expect(toOtelRecord(gap)).toMatchObject({ eventName: 'log.gap' });
    expect(toOtelRecord(gap).attributes).toEqual({
      'log.record.uid': 'u-1',
      'log.file.path': 'network/current',
      'log.file.record_offset': 0,
      'router.component': 'network',
      'router.flags': ['late', 'self'],
      'router.original_base64': 'AAE=',
      'router.details.certainty': 'likely',
      'router.details.lines': 12,
    });
  });

  test('places severities as the data model places those of syslog', () => {
    const numbers: Record<Severity, number> = {
      debug: 5,
      info: 9,
      notice: 10,
      warning: 13,
      error: 17,
      critical: 18,
      alert: 19,
      emergency: 21,
    };
    for (const [severity, severityNumber] of Object.entries(numbers)) {
      expect(toOtelRecord({ ...bare, severity: severity as Severity })).toMatchObject({
        severityText: severity,
        severityNumber,
      });
    }
  });
});

describe('toUnixNano()', () => {
  test.for([
    ['2025-10-26T00:59:58.000018231Z', '1761440398000018231'],
    ['2025-10-26T01:00:31.412Z', '1761440431412000000'],
    ['1970-01-01T00:00:00.000000001Z', '1'],
    ['2025-10-26T01:00:31Z', '1761440431000000000'],
    ['2554-07-21T23:34:33.709551615Z', '18446744073709551615'],
    ['2554-07-21T23:34:33.709551616Z', undefined],
    ['1970-01-01T00:00:00.000000000Z', undefined],
    ['1969-12-31T23:59:59.999999999Z', undefined],
    ['2025-13-26T01:00:31Z', undefined],
    ['2025-10-26 01:00:31', undefined],
    [undefined, undefined],
  ] as const)('turns %s into %s', ([instant, expected]) => {
    expect(toUnixNano(instant)).toBe(expected);
  });
});

describe('renderOtel()', () => {
  test('writes whole numbers as texts, others as doubles, and lists as lists', () => {
    const text = renderOtel({ ...gap, details: { big: 2 ** 53, half: 0.5, whole: -3 } });
    expect(text).toContain('{"key":"router.details.big","value":{"doubleValue":9007199254740992}}');
    expect(text).toContain('{"key":"router.details.half","value":{"doubleValue":0.5}}');
    expect(text).toContain('{"key":"router.details.whole","value":{"intValue":"-3"}}');
    expect(text).toContain('"arrayValue":{"values":[{"stringValue":"late"},{"stringValue":"self"}]}');
    expect(text).toContain('"eventName":"log.gap"');
    expect(text).not.toContain('timeUnixNano":null');
  });
});

describe('renderOtelDocument()', () => {
  test('takes the time of the download for a missing one', () => {
    expect(parse(renderOtelDocument(gap))).toMatchObject({
      '@timestamp': '2025-10-26T01:00:31.412Z',
      event_name: 'log.gap',
      attributes: { 'router.details.lines': 12 },
    });
  });
});

describe('renderRecord()', () => {
  test.for(['native', 'ecs', 'otel'] as const)('gives one line of JSON, the same for the same record: %s', (format) => {
    const fields = { ...gap, message: 'two\nlines \u2028 "and" \\ \u0000 \ufffd 😀', labels: { site: 'a\nb' } };
    const text = renderRecord(toOutgoing(fields), format);
    expect(text).not.toMatch(/[\n\r]/);
    expect(renderRecord(toOutgoing(structuredClone(fields)), format)).toBe(text);
    expect(JSON.stringify(parse(text))).toBe(text);
  });

  test.for(['native', 'ecs', 'otel'] as const)('lets a test record say that it is one: %s', (format) => {
    const text = renderRecord(createTestRecord(createSteppedClock(0)), format);
    expect(text).toContain('Test record of router-exporter: it can be deleted');
    expect(text).toMatch(/"preflight-0"/);
  });
});
