import { expect, test } from 'vitest';
import { createSteppedClock, Secret } from '../../../src/base/index.ts';
import { createTestSink, type SinkChange } from '../../support/sinks/create-sink.ts';
import { openLokiServer } from '../../support/sinks/loki-server.ts';

const never = new AbortController().signal;
const NOW_MS = Date.UTC(2025, 9, 26, 1, 0, 31);
const now = () => NOW_MS;
const DAY_MS = 86_400_000;
const smallFleet = { routers: 3, labelValues: { site: 2 } };

const clock = createSteppedClock(NOW_MS);
const openSink = (url: string, options: SinkChange<'loki'> = {}) =>
  createTestSink('loki', { url, name: 'logs', layout: 'router' }, { clock, routers: () => 3, ...options });

const CONFIG = `
server: {http_listen_port: 3100}
limits_config:
  max_streams_per_user: 0
  max_global_streams_per_user: 5000
  reject_old_samples: true
  reject_old_samples_max_age: 1w
  creation_grace_period: 10m
  max_line_size: 256KB
  allow_structured_metadata: true
  increment_duplicate_timestamp: false
`;

const verdicts = (findings: readonly { step: string; verdict: string }[]) =>
  findings.map(({ step, verdict }) => `${step} ${verdict}`);

test('The preflight of a sink of type loki finds nothing against a Loki with its default limits', async () => {
  await using server = await openLokiServer({ now, config: CONFIG });
  await using sink = openSink(`${server.url}/loki/api/v1/push/`);
  expect(verdicts(await sink.preflight(smallFleet, never))).toEqual([
    'connect ok',
    'authorise ok',
    'test record ok',
    'ready ok',
    'stream limit ok',
  ]);
  expect(server.paths).toEqual(['/loki/api/v1/push', '/ready', '/config']);
  expect(server.records()[0]?.line).toBe('Test record of router-exporter: it can be deleted');
  expect(server.violations).toEqual([]);
});

test('The preflight of a sink of type loki says that a receiver is not Loki, and that its 200 counts', async () => {
  await using server = await openLokiServer({ now, isLoki: false });
  await using sink = openSink(server.url);
  const findings = await sink.preflight(smallFleet, never);
  expect(verdicts(findings)).toEqual(['connect ok', 'authorise ok', 'test record ok', 'receiver ok']);
  expect(findings.at(-1)?.message).toContain('its status 200 counts as accepted');
});

test('The preflight of a sink of type loki names each number and key that does not fit', async () => {
  const config = `
limits_config:
  max_streams_per_user: 900
  max_global_streams_per_user: 1000
  reject_old_samples_max_age: 72h0m0s
  creation_grace_period: 1m
  max_line_size: 64KB
  allow_structured_metadata: false
  increment_duplicate_timestamp: true
`;
  await using server = await openLokiServer({
    now,
    config,
    ready: { status: 503, body: 'Ingester not ready: waiting\n' },
  });
  await using sink = openSink(server.url);
  const findings = await sink.preflight({ routers: 91, labelValues: {} }, never);
  expect(findings.slice(3).map(({ step, verdict, message }) => [step, verdict, message])).toEqual([
    ['ready', 'warning', 'Loki is not ready: Ingester not ready: waiting'],
    [
      'stream limit',
      'warning',
      '91 routers with 10 logs each need about 910 streams in layout router, but max_streams_per_user is 900',
    ],
    [
      'age window',
      'warning',
      'reject_old_samples_max_age is 3d, and max_age of this sink is 1w: Loki refuses lines in between',
    ],
    [
      'future window',
      'warning',
      'creation_grace_period is 1m: Loki refuses lines of routers whose clocks are further ahead',
    ],
    [
      'line size',
      'warning',
      'max_line_size is 65536 bytes: Loki refuses longer lines, and this sink truncates only above 262144 bytes',
    ],
    ['structured metadata', 'failed', 'allow_structured_metadata is false: Loki refuses every record'],
    [
      'timestamps',
      'warning',
      'increment_duplicate_timestamp is set: Loki changes times and stores a line sent again twice',
    ],
  ]);
  expect(findings.slice(4).every(({ hint }) => hint !== undefined)).toBe(true);
});

test('The preflight of a sink of type loki compares the fleet with the streams of its layout', async () => {
  await using server = await openLokiServer({
    now,
    config: 'limits_config: {max_global_streams_per_user: 4000, reject_old_samples: false}',
  });
  const look = async (routers: number, options: SinkChange<'loki'>, site = 1) => {
    await using sink = openSink(server.url, options);
    const findings = await sink.preflight({ routers, labelValues: { site } }, never);
    return findings
      .filter(({ step }) => step === 'stream limit' || step === 'age window')
      .map(({ message }) => message);
  };
  const age = 'Loki accepts lines of any age, and max_age of this sink is 1w: older lines are not sent';
  expect(await look(300, { layout: 'router' })).toEqual([
    'max_global_streams_per_user is 4000, and stream_limit of this sink is 5000: the sink may open too many streams',
    age,
  ]);
  expect(await look(300, { layout: 'auto', stream_limit: 4000 })).toEqual([
    '300 routers with 10 logs each need about 320 streams in layout shard',
    age,
  ]);
  expect(await look(300, { layout: 'shard', stream_limit: 3000 }, 20)).toEqual([
    '300 routers with 10 logs each need about 3000 streams in layout shard',
    age,
  ]);
  expect(await look(301, { layout: 'router', stream_limit: 3000, max_age: 0 })).toEqual([
    '301 routers with 10 logs each need about 3010 streams in layout router, but stream_limit of this sink is 3000',
  ]);
});

test('The preflight of a sink of type loki compares how old a line may be', async () => {
  const config = 'limits_config: {reject_old_samples_max_age: 2d}';
  await using server = await openLokiServer({ now, config });
  const look = async (maxAgeMs: number) => {
    await using sink = openSink(server.url, { max_age: maxAgeMs });
    const findings = await sink.preflight(smallFleet, never);
    return findings.filter(({ step }) => step === 'age window').map(({ message }) => message);
  };
  expect(await look(0)).toEqual([
    'reject_old_samples_max_age is 2d, and max_age of this sink is unlimited: Loki refuses lines in between',
  ]);
  expect(await look(3 * DAY_MS)).toEqual([
    'reject_old_samples_max_age is 2d, and max_age of this sink is 3d: Loki refuses lines in between',
  ]);
  expect(await look(2 * DAY_MS)).toEqual([]);
  expect(await look(DAY_MS)).toEqual([
    'Loki accepts lines up to 2d old, and max_age of this sink is 1d: older lines are not sent',
  ]);
});

test.each([
  ['not there', undefined],
  ['no YAML', '{"a": ['],
  ['a page', '<html><body>login</body></html>'],
  ['a bomb of aliases', 'a: &a [x, x]\nb: &b [*a, *a]\nlimits_config: {x: [*b, *b]}'],
  ['without limits', 'server: {}'],
])('The preflight of a sink of type loki does without the settings of Loki when they are %s', async (_, config) => {
  await using server = await openLokiServer({ now, ...(config !== undefined && { config }) });
  await using sink = openSink(server.url);
  const findings = await sink.preflight(smallFleet, never);
  expect(verdicts(findings).slice(-2)).toEqual(['stream limit ok', 'limits ok']);
});

test('The preflight of a sink of type loki asks only what its url is for, when that is a path of a gateway', async () => {
  await using server = await openLokiServer({ now, config: CONFIG });
  await using sink = openSink(`${server.url}/gateway`);
  const findings = await sink.preflight(smallFleet, never);
  expect(verdicts(findings)).toEqual(['connect ok', 'test record failed', 'stream limit ok', 'limits ok']);
  expect(server.paths).toEqual(['/gateway']);
});

test('The preflight of a sink of type loki ends when the server is unreachable, and reports wrong credentials', async () => {
  await using server = await openLokiServer({ now, bearer: 'right-token' });
  await using sink = openSink(server.url, { bearer_token: new Secret('wrong-token') });
  expect(verdicts(await sink.preflight(smallFleet, never)).slice(0, 2)).toEqual(['connect ok', 'authorise failed']);
  await server.close();
  expect(verdicts(await sink.preflight(smallFleet, never))).toEqual(['connect failed']);
  const reason = new RangeError('enough');
  await expect(sink.preflight(smallFleet, AbortSignal.abort(reason))).rejects.toBe(reason);
});
