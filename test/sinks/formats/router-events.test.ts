import { expect, test } from 'vitest';
import type { EventRecord } from '../../../src/model/index.ts';
import { encodeLogsRequest, renderOtel, renderOtelDocument, toOtelRecord } from '../../../src/sinks/otel.ts';
import { OutgoingRecord, renderEcs, renderRecord } from '../../../src/sinks/outgoing-record.ts';
import { toLokiEntry } from '../../../src/sinks/types/loki/push.ts';
import { toNatsSubject } from '../../../src/sinks/types/nats/subjects.ts';
import { renderSyslogMessage } from '../../../src/sinks/types/syslog/message.ts';
import { parseSyslogMessage } from '../../support/sinks/syslog-message.ts';

/** A record without component, file, offset and time of its own. */
const EVENT: EventRecord = {
  observed_timestamp: '2026-11-29T12:03:31.412Z',
  router: 'plant-7',
  message: 'The router is down: No answer',
  uid: 'k7d2m4q2x4t5h7ca-mjk2a1bc',
  labels: { site: 'munich' },
  event: 'router.down',
  details: { reason: 'timeout', step: 'connect', error: 'No answer' },
};
const record = new OutgoingRecord(JSON.stringify(EVENT));
const parse = (text: string) => JSON.parse(text) as unknown;

test('an event of a router is sent as it is stored', () => {
  expect(renderRecord(record, 'native')).toBe(JSON.stringify(EVENT));
  expect(record.uid).toBe(EVENT.uid);
});

test('an event of a router is an ECS document without a log', () => {
  expect(parse(renderEcs(record))).toEqual({
    '@timestamp': EVENT.observed_timestamp,
    ecs: { version: '8.17.0' },
    message: EVENT.message,
    event: {
      id: EVENT.uid,
      kind: 'event',
      dataset: 'router.events',
      action: 'router.down',
      created: EVENT.observed_timestamp,
    },
    host: { name: 'plant-7' },
    observer: { name: 'plant-7', type: 'router' },
    agent: { type: 'router-exporter' },
    labels: { site: 'munich' },
    router: { details: EVENT.details },
  });
});

test('an event of a router is an OTLP record without attributes of a file', () => {
  expect(toOtelRecord(record.fields)).toMatchObject({
    eventName: 'router.down',
    attributes: {
      'log.record.uid': EVENT.uid,
      'router.details.reason': 'timeout',
      'router.details.step': 'connect',
      'router.details.error': 'No answer',
    },
  });
  for (const text of [renderOtel(record.fields), renderOtelDocument(record.fields)]) {
    expect(text).not.toMatch(/log\.file|router\.component|undefined/);
  }
  expect(Buffer.from(encodeLogsRequest([record.fields])).toString('latin1')).not.toContain('log.file');
});

test('an event of a router is a syslog message whose MSGID is its kind', () => {
  const options = { facility: 16, appName: 'router-exporter', messageBytesMax: 8192 };
  const message = renderSyslogMessage(record.fields, options);
  const text = message.toString();
  expect(text).toMatch(
    /^<133>1 2026-11-29T12:03:31\.412Z plant-7 router-exporter - router\.down \[record@0 uid="k7d2m4q2x4t5h7ca-mjk2a1bc" observed=/,
  );
  expect(text).not.toMatch(/ (component|file|offset)=|undefined/);
  expect(parseSyslogMessage(message)).toBeDefined();
});

test('an event of a router has a subject of its own, with its kind in place of the component', () => {
  expect(toNatsSubject('logs', record.fields)).toBe('logs.munich.plant-7.router%2Edown');
});

test('an event of a router is in a stream of Loki without a component', () => {
  const { labels, metadata, ns, line } = toLokiEntry(record.fields, { kind: 'router' });
  expect(labels).toEqual({ router: 'plant-7', service_name: 'router-exporter', site: 'munich' });
  expect(metadata).toMatchObject({ uid: EVENT.uid, event: 'router.down', details_reason: 'timeout' });
  expect(Object.keys(metadata)).not.toEqual(expect.arrayContaining(['file']));
  expect(Object.keys(metadata)).not.toEqual(expect.arrayContaining(['offset']));
  expect([ns, line]).toEqual([`${Date.parse(EVENT.observed_timestamp)}000000`, EVENT.message]);
});
