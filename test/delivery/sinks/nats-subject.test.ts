import { expect, test } from 'vitest';
import { isCovering, toNatsSubject } from '../../../src/delivery/sinks/nats/subject.ts';
import { sampleRecord } from '../../support/sinks/sample-records.ts';

test('toNatsSubject() bounds what a router says and leaves no part empty', () => {
  const { fields } = sampleRecord('a', { router: '', component: '.'.repeat(300), labels: { site: '' } });
  expect(toNatsSubject('logs', fields)).toBe(`logs.none._.${'_'.repeat(128)}`);
});

test.for([
  ['logs.>', 'logs', true],
  ['>', 'logs', true],
  ['logs.*.*.*', 'logs', true],
  ['*.*.*.*', 'logs', true],
  ['logs.*.*.>', 'logs', true],
  ['logs.*.*.*.>', 'logs', false],
  ['logs.*.*', 'logs', false],
  ['logs.munich.>', 'logs', false],
  ['logs.>', 'other', false],
  ['logs.>', 'logs.deep', true],
  ['logs.*.*.*', 'logs.deep', false],
] as const)('isCovering() of %s below %s is %s', ([streamSubject, prefix, expected]) => {
  expect(isCovering(streamSubject, prefix)).toBe(expected);
});
