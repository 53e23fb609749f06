import { describe, expect, onTestFinished, test } from 'vitest';
import { createTestSink, type SinkChange } from '../../support/sinks/create-sink.ts';
import { type ElasticsearchServerOptions, openElasticsearchServer } from '../../support/sinks/elasticsearch-server.ts';
import type { Reply } from '../../support/sinks/misbehaving-server.ts';

const { signal } = new AbortController();
const fleet = { routers: 1, labelValues: {} };
const INDEX = 'logs-router-default';

const json = (value: unknown): Reply => ({ status: 200, body: JSON.stringify(value) });
const stream = (extra: object = {}) =>
  json({ data_streams: [{ name: INDEX, template: 'mine', status: 'GREEN', ...extra }] });
const templates = (...entries: readonly (readonly [string, readonly string[], number, boolean])[]) =>
  json({
    index_templates: entries.map(([name, index_patterns, priority, isDataStream]) => ({
      name,
      index_template: { index_patterns, priority, ...(isDataStream && { data_stream: { hidden: false } }) },
    })),
  });

async function openBench(serverOptions: ElasticsearchServerOptions = {}, options: SinkChange<'elasticsearch'> = {}) {
  const server = await openElasticsearchServer(serverOptions);
  const sink = createTestSink('elasticsearch', { url: server.url, name: 'elastic', compress: 'none' }, options);
  onTestFinished(async () => {
    await sink.close();
    await server.close();
  });
  const check = async () => {
    const findings = await sink.preflight(fleet, signal);
    return findings.map(({ step, verdict, message }) => `${step} ${verdict}: ${message}`);
  };
  return { server, sink, check };
}

describe('the preflight of Elasticsearch', () => {
  test('says who answers, what the index is, and that a test record is taken', async () => {
    const { server, check } = await openBench({ answers: { [`/_data_stream/${INDEX}`]: stream() } });
    expect(await check()).toEqual([
      `connect ok: ${server.url}/ can be reached`,
      'authorise ok: Elasticsearch 9.1.3 accepts the credentials',
      'index ok: The data stream logs-router-default exists (template mine)',
      'test record ok: The test record was accepted',
    ]);
    expect(server.documents()).toMatchObject([{ id: 'preflight-0', source: { host: { name: 'router-exporter' } } }]);
    expect(server.violations).toEqual([]);
  });

  test('warns of an index where a data stream is expected, as OpenSearch answers', async () => {
    const { check } = await openBench({ answers: { [`/_data_stream/${INDEX}`]: json({ data_streams: [] }) } });
    expect(await check()).toContain('index warning: logs-router-default is an index, not a data stream');
  });

  test('knows OpenSearch', async () => {
    const greeting = json({ version: { distribution: 'opensearch', number: '2.19.1' } });
    const { check } = await openBench({ greeting });
    expect((await check())[1]).toBe('authorise ok: OpenSearch 2.19.1 accepts the credentials');
  });

  test('wonders who else it could be', async () => {
    const { check } = await openBench({ greeting: { status: 200, body: '<html>' } });
    expect((await check())[1]).toBe('authorise warning: The response does not identify Elasticsearch or OpenSearch');
  });

  test('continues when the account may not read the version, and stops for an unknown account', async () => {
    const modest = await openBench({ greeting: { status: 403, body: 'no' } });
    expect((await modest.check()).map((line) => line.split(':')[0])).toEqual([
      'connect ok',
      'authorise warning',
      'index warning',
      'test record ok',
    ]);
    const unknown = await openBench({ greeting: { status: 401, body: 'who?' } });
    expect(await unknown.check()).toEqual([
      'connect ok: The sink can be reached',
      'authorise failed: Sink elastic answered with status 401: who?',
    ]);
    expect(unknown.server.requests).toHaveLength(1);
  });

  test('reports an unreachable server', async () => {
    const { server, check } = await openBench();
    await server.close();
    expect(await check()).toEqual([expect.stringMatching(/^connect failed: Sink elastic could not connect to /)]);
  });

  test.for([
    [[['other', ['metrics-*'], 500, true]], false],
    [[['logs', ['logs-*-*'], 100, true]], 'logs'],
    [
      [
        ['mine', [INDEX], 200, true],
        ['logs', ['logs-*-*'], 100, false],
      ],
      'mine',
    ],
    [
      [
        ['logs', ['logs-*-*'], 100, true],
        ['plain', ['*'], 200, false],
      ],
      false,
    ],
    [[['ends', ['*-other'], 100, true]], false],
    [[['both', ['logs-*router-default', 'logs-router-default*'], 1, true]], 'both'],
    [[['overlap', ['logs-router-def*fault'], 1, true]], false],
    [[['middle', ['lo*-rou*er-*'], 1, true]], 'middle'],
    [[['order', ['*default*router*'], 1, true]], false],
    [[], false],
  ] as const)('finds the template that counts: %s', async ([entries, found]) => {
    const { check } = await openBench({ answers: { '/_index_template': templates(...entries) } });
    expect((await check())[2]).toBe(
      found === false
        ? `index warning: No index template makes ${INDEX} a data stream: the first record creates an index with types derived from its values`
        : `index ok: The first record creates the data stream ${INDEX} (template ${found})`,
    );
  });

  test('says what to do when there is no template', async () => {
    const { sink } = await openBench({ answers: { '/_index_template': templates() } }, { format: 'otel' });
    const findings = await sink.preflight(fleet, signal);
    expect(findings.find(({ step }) => step === 'index')?.hint).toBe(
      '`router-exporter schema --index-template elastic` prints a template for it',
    );
  });

  test('says when it is not allowed to look', async () => {
    const no = { status: 403, body: 'no' };
    const { check } = await openBench({ answers: { '/_index_template': no } });
    expect((await check())[2]).toBe('index warning: Could not read the index templates: status 403');
    const other = await openBench({ answers: { [`/_data_stream/${INDEX}`]: no } });
    expect((await other.check())[2]).toBe(
      `index warning: Could not check whether ${INDEX} is a data stream: status 403`,
    );
  });

  test.for([
    ['1d', 'warning'],
    ['167h', 'warning'],
    ['30m', 'warning'],
    ['7d', 'ok'],
    ['168h', 'ok'],
    ['30d', 'ok'],
  ] as const)('reports when ids restart: %s', async ([age, verdict]) => {
    const policy = { phases: { hot: { actions: { rollover: { max_age: age } } } } };
    const { check } = await openBench({
      answers: {
        [`/_data_stream/${INDEX}`]: stream({ ilm_policy: 'keep' }),
        '/_ilm/policy/keep': json({ keep: { policy } }),
      },
    });
    expect((await check())[3]).toBe(
      `rollover ${verdict}: The index rolls over after ${age} (policy keep): a record sent again later is stored twice`,
    );
  });

  test.for([
    json({}),
    json({ keep: { policy: { phases: { hot: { actions: { rollover: { max_age: 7 } } } } } } }),
    json([]),
  ])('says nothing of a policy that it cannot read: %j', async (answer) => {
    const { check } = await openBench({
      answers: { [`/_data_stream/${INDEX}`]: stream({ ilm_policy: 'keep' }), '/_ilm/policy/keep': answer },
    });
    expect(await check()).toHaveLength(4);
  });

  test('looks for the pipeline', async () => {
    const answers = { '/_ingest/pipeline/mine': json({ mine: {} }) };
    const there = await openBench({ answers, pipelines: ['mine'] }, { pipeline: 'mine' });
    expect((await there.check())[3]).toBe('pipeline ok: The pipeline mine exists');
    const gone = await openBench({}, { pipeline: 'gone' });
    expect((await gone.check()).slice(3)).toEqual([
      'pipeline failed: The pipeline gone does not exist',
      expect.stringMatching(/^test record failed: .*pipeline with id \[gone\] does not exist/),
    ]);
    const no = { '/_ingest/pipeline/mine': { status: 403 } };
    const hidden = await openBench({ answers: no, pipelines: ['mine'] }, { pipeline: 'mine' });
    expect((await hidden.check())[3]).toBe(
      'pipeline warning: Could not check whether the pipeline mine exists: status 403',
    );
  });

  test.for([
    [{ status: 400, type: 'document_parsing_exception', reason: 'x' }, 'failed: The test record was refused: document'],
    [{ status: 429, type: 'busy', reason: 'x' }, 'failed: The test record was deferred: Status 429: busy'],
    [{ status: 403, type: 'security_exception', reason: 'x' }, 'failed: Sink elastic refused a record with status 403'],
  ] as const)('says that the test record was not taken: %j', async ([fault, expected]) => {
    const { server, check } = await openBench();
    server.refuse('preflight-0', fault);
    expect((await check()).at(-1)).toMatch(`test record ${expected}`);
  });

  test('says that the test record went to the failure store', async () => {
    const { server, check } = await openBench();
    server.setAside('preflight-0');
    expect((await check()).at(-1)).toMatch('test record warning: 1 records went to the failure store');
  });

  test.for([400, 404, 405, 429, 500, 501, 503])(
    'warns, and still tries a record, where indices and pipelines are unknown and answered with %s',
    async (status) => {
      const greeting = { status: 400, body: 'unsupported path requested' };
      const unknown = { status, body: 'unsupported path requested' };
      const { server, check } = await openBench({ prefix: '/insert/elasticsearch', greeting, unknown });
      const verdicts = (await check()).map((line) => line.split(':')[0]);
      expect(verdicts).toEqual(['connect ok', 'authorise warning', 'index warning', 'test record ok']);
      expect(server.requests.at(-1)?.path).toMatch(/^\/insert\/elasticsearch\/_bulk\?/);
      expect(server.violations).toEqual([]);
    },
  );

  test('ends early when the cluster is starting', async () => {
    const { check } = await openBench({ greeting: { status: 503, body: 'starting' } });
    expect(await check()).toEqual([
      'connect ok: The sink can be reached',
      'authorise failed: Sink elastic answered with status 503: starting',
    ]);
  });

  test('throws when it is aborted', async () => {
    const { server, sink } = await openBench();
    server.misbehave({ kind: 'hang' });
    const controller = new AbortController();
    const arrival = server.nextArrival();
    const failure = sink.preflight(fleet, controller.signal).catch((cause: unknown) => cause);
    await arrival;
    controller.abort('stop');
    expect(await failure).toBe('stop');
  });
});
