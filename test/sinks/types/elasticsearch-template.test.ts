import { describe, expect, test } from 'vitest';
import { renderIndexTemplate } from '../../../src/sinks/index.ts';
import { renderOtelDocument } from '../../../src/sinks/otel.ts';
import { renderEcs } from '../../../src/sinks/outgoing-record.ts';
import { sampleRecord } from '../../support/sinks/sample-records.ts';

type Mapping = { readonly type?: string; readonly properties?: Readonly<Record<string, Mapping>> };

const record = sampleRecord('a', {
  severity: 'warning',
  flags: ['late'],
  original: 'AAE=',
  event: 'log.gap',
  details: { reason: 'expired', lines: 3, from_uid: null },
});
const DOCUMENTS = {
  native: `{"@timestamp":"${record.fields.timestamp}",${record.line.slice(1)}`,
  ecs: renderEcs(record),
  otel: renderOtelDocument(record.fields),
} as const;

/** Names of all fields of a document with their values, as Elasticsearch takes dots for steps. */
function listFields(value: unknown, path: readonly string[] = []): [string, unknown][] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[path.join('.'), value]];
  return Object.entries(value).flatMap(([key, inner]) => listFields(inner, [...path, key]));
}

function findType(mapping: Mapping, path: string): string | undefined {
  const [step = '', ...rest] = path.split('.');
  const found = mapping.properties?.[step];
  return rest.length === 0 || !found ? found?.type : findType(found, rest.join('.'));
}

/** What has names of its own: labels of routers and details of events. */
const FREE = /^(labels|details|router\.details|attributes\.router\.details|resource\.attributes\.router\.label)\./;
const TYPES: Readonly<Record<string, RegExp>> = { string: /^(keyword|text|date_nanos)$/, number: /^long$/ };

describe('renderIndexTemplate()', () => {
  test('makes the index a data stream, before the templates that are shipped', () => {
    expect(JSON.parse(renderIndexTemplate({ index: 'logs-x-y', format: 'ecs' }))).toMatchObject({
      index_patterns: ['logs-x-y'],
      data_stream: {},
      priority: expect.toSatisfy((priority: number) => priority > 200),
    });
  });

  test.for(['native', 'ecs', 'otel'] as const)('knows the type of every field of format %s', (format) => {
    const { template } = JSON.parse(renderIndexTemplate({ index: 'x', format })) as { template: { mappings: Mapping } };
    const fields = listFields(JSON.parse(DOCUMENTS[format])).filter(([path]) => !FREE.test(path));
    expect(fields.length).toBeGreaterThan(12);
    for (const [path, value] of fields) {
      const sample: unknown = Array.isArray(value) ? value[0] : value;
      expect({ path, type: findType(template.mappings, path) }).toEqual({
        path,
        type: expect.stringMatching(TYPES[typeof sample] ?? /never/),
      });
    }
    expect(findType(template.mappings, '@timestamp')).toBe('date_nanos');
    expect(template.mappings).toMatchObject({
      date_detection: false,
      dynamic_templates: [{ texts: { match_mapping_type: 'string', mapping: { type: 'keyword' } } }],
    });
  });
});
