import { describe, expect, onTestFinished, test } from 'vitest';
import { openElasticsearchServer } from '../../support/sinks/elasticsearch-server.ts';
import { openHttpServer } from '../../support/sinks/http-server.ts';
import { readJsonLines } from '../../support/sinks/json-lines-reader.ts';

describe('readJsonLines(), the reader of the tests', () => {
  test('reads one object per line', () => {
    expect(readJsonLines(Buffer.from('{"a":1}\n{"b":"ü"}\n')).map(({ object }) => object)).toEqual([
      { a: 1 },
      { b: 'ü' },
    ]);
  });

  test.for([
    ['', 'no line at all'],
    ['{"a":1}', 'no line feed'],
    ['{"a":1}\n\n', 'no JSON'],
    ['{"a":1}\r\n', 'shortest form'],
    ['[1]\n', 'no object'],
    ['null\n', 'no object'],
    ['{"a":1,"a":2}\n', 'key twice'],
    ['{"a": 1}\n', 'shortest form'],
    ['\ufeff{"a":1}\n', 'byte order mark'],
    [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d, 0x0a]), 'not UTF-8'],
  ] as const)('refuses %j', ([text, words]) => {
    expect(() => readJsonLines(Buffer.from(text as string))).toThrow(words);
  });
});

describe('the strict servers of the tests', () => {
  const key = 'a'.repeat(64);
  const good = { 'content-type': 'application/x-ndjson', 'idempotency-key': key };

  test.for([
    [{ ...good, 'content-type': 'application/json' }, '{"a":1}\n', 'content type'],
    [{ 'content-type': 'application/x-ndjson' }, '{"a":1}\n', 'idempotency'],
    [good, '{"a":1}', 'line feed'],
    [{ ...good, 'content-encoding': 'br' }, '{"a":1}\n', 'content encoding'],
  ] as const)('notice what is wrong with JSON lines: %j', async ([headers, body, words]) => {
    const server = await openHttpServer();
    onTestFinished(() => server.close());
    await fetch(server.url, { method: 'POST', headers, body });
    expect(server.violations).toEqual([expect.stringContaining(words)]);
  });

  test('notice other bytes under the same key, and the same bytes under another one', async () => {
    const server = await openHttpServer();
    onTestFinished(() => server.close());
    const post = (body: string, id: string) =>
      fetch(server.url, { method: 'POST', headers: { ...good, 'idempotency-key': id }, body });
    await post('{"a":1}\n', key);
    await post('{"a":1}\n', key);
    expect([server.violations, server.repeats, server.records()]).toEqual([[], 1, [{ a: 1 }]]);
    await post('{"a":2}\n', key);
    await post('{"a":1}\n', 'b'.repeat(64));
    expect(server.violations).toHaveLength(2);
  });

  test.for([
    ['{"index":{"_id":"a"}}\n{"x":1}\n', 'action create'],
    ['{"create":{}}\n{"x":1}\n', 'without an id'],
    ['{"create":{"_id":"a","_type":"b"}}\n{"x":1}\n', 'or with more'],
    ['{"create":{"_id":"a","_index":"b"}}\n{"x":1}\n', 'another index'],
    ['{"create":{"_id":"a"}}\n', 'without its document'],
    [`{"create":{"_index":"logs-router-default","_id":"${'a'.repeat(513)}"}}\n{"x":1}\n`, 'too long'],
  ])('notice what is wrong with a bulk request: %s', async ([body, words]) => {
    const server = await openElasticsearchServer();
    onTestFinished(() => server.close());
    const url = `${server.url}/_bulk`;
    await fetch(url, { method: 'POST', headers: { 'content-type': 'application/x-ndjson' }, body: `${body}` });
    expect(server.violations).toEqual([expect.stringContaining(`${words}`)]);
  });
});
