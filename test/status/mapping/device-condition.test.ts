import { expect, it } from 'vitest';
import type { MappingContext } from '../../../src/status/index.ts';
import { mapOne } from './mapping-bench.ts';

/** Returns true if a router has a metric with this condition. */
function isMet(when: object | undefined, device: MappingContext['device']): boolean {
  const metrics = [{ name: 'router_x', value: 'v', when }];
  return mapOne({ metrics }, { status: { unique: { v: 1 } } }, { device }).families.length > 0;
}

it.each<[string, string | undefined, boolean]>([
  ['>=6', '6', true],
  ['>=6', '6.0.0', true],
  ['>=6', '5.9.9', false],
  ['>9.9', '9.10', true],
  ['<9.10', '9.9', true],
  ['<9.10', '9.10', false],
  ['=9', '9.0', true],
  ['=9', '9.0.1', false],
  ['<=9.5', '9.5-rc1', true],
  ['>=5.5 <9', '5.5', true],
  ['>=5.5 <9', '9', false],
  ['>=1', 'v2.1', true],
  ['>=0', 'unknown', false],
  ['>=0', undefined, false],
  ['>=0', `${'x'.repeat(64)}9`, false],
  ['<999999999.2', '999999999.1', true],
])('a metric for the versions %s and the firmware %s', (firmware, found, expected) => {
  expect(isMet({ firmware }, { firmware: found, boards: [] })).toBe(expected);
});

it('all conditions of a metric have to be met, of boards by one of them, and none by an unknown router', () => {
  const when = { firmware: '>5', board: ['MRX?', 'ECR-*'] };
  expect(isMet(when, { firmware: '6', boards: ['IO', 'MRX3'] })).toBe(true);
  expect(isMet(when, { firmware: '6', boards: ['IO', 'MRX33'] })).toBe(false);
  expect(isMet(when, { firmware: '5', boards: ['ECR-1'] })).toBe(false);
  expect(isMet(when, { firmware: '6', boards: [] })).toBe(false);
  expect(isMet(when, undefined)).toBe(false);
  expect(isMet(undefined, undefined)).toBe(true);
});
