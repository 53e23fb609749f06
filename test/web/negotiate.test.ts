import { expect, test } from 'vitest';
import { chooseMetricsFormat, isGzipWanted, isUnchanged } from '../../src/web/server/answers.ts';

const PROMETHEUS_2 =
  'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1';
const PROMETHEUS_3 =
  'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1';
const PROMETHEUS_PROTOBUF =
  'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1';
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8';

test.for([
  [PROMETHEUS_2, 'openmetrics'],
  [PROMETHEUS_3, 'openmetrics'],
  [PROMETHEUS_PROTOBUF, 'openmetrics'],
  [BROWSER, 'text'],
  [undefined, 'text'],
  ['', 'text'],
  ['*/*', 'text'],
  ['text/*', 'text'],
  ['application/json', 'text'],
  ['application/openmetrics-text', 'openmetrics'],
  ['APPLICATION/OpenMetrics-Text ; Version="1.0.0" ; Q=1.0', 'openmetrics'],
  ['application/openmetrics-text;version=0.0.1', 'text'],
  ['application/openmetrics-text;version=2.0.0', 'text'],
  ['text/plain;q=0.5, application/openmetrics-text;q=0.6', 'openmetrics'],
  ['text/plain;q=0.6, application/openmetrics-text;q=0.5', 'text'],
  ['text/plain, application/openmetrics-text', 'text'],
  ['application/openmetrics-text, text/plain', 'openmetrics'],
  ['text/plain;version=1.0.0, application/openmetrics-text;q=0.1', 'openmetrics'],
  ['application/openmetrics-text;q=0', 'text'],
  ['application/openmetrics-text;q=0, */*;q=0', 'text'],
  ['application/openmetrics-text;q=often', 'text'],
  [',;=,;q=,q=1;;', 'text'],
])('chooseMetricsFormat() reads %j as a wish for %s', ([accept, format]) => {
  expect(chooseMetricsFormat(accept)).toBe(format);
});

test('chooseMetricsFormat() looks at the first 64 choices and no further', () => {
  const others = (count: number) => Array.from({ length: count }, (_, index) => `a/b${index}`).join();
  expect(chooseMetricsFormat(`${others(63)},application/openmetrics-text`)).toBe('openmetrics');
  expect(chooseMetricsFormat(`${others(64)},application/openmetrics-text`)).toBe('text');
});

test.for([
  [undefined, false],
  ['', false],
  ['gzip', true],
  ['GZIP', true],
  ['x-gzip', true],
  ['gzip, deflate, br, zstd', true],
  ['gzip;q=0', false],
  ['gzip;q=0.000', false],
  ['gzip;q=0.001', true],
  ['br', false],
  ['identity', false],
  ['*', true],
  ['*;q=0', false],
  ['gzip;q=0, *', false],
  ['identity;q=0.5, gzip;q=1.0', true],
  ['identity, gzip;q=0.5', false],
  ['gzip;q=many', false],
] as const)('isGzipWanted() reads %j as %s', ([acceptEncoding, isWanted]) => {
  expect(isGzipWanted(acceptEncoding)).toBe(isWanted);
});

test.for([
  [undefined, false],
  ['', false],
  ['W/"abc"', true],
  ['"abc"', true],
  ['"other", W/"abc"', true],
  ['"other"', false],
  ['abc', false],
  ['*', true],
] as const)('isUnchanged() compares W/"abc" with %j', ([ifNoneMatch, isSame]) => {
  expect(isUnchanged(ifNoneMatch, 'W/"abc"')).toBe(isSame);
});
