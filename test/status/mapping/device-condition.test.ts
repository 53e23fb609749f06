import { expect, it } from 'vitest';
import { compileCondition } from '../../../src/status/mapping/device-condition.ts';

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
  ['<1000000000', '999999999.1', true],
])('the versions %s and the firmware %s', (firmware, found, isMet) => {
  expect(compileCondition({ firmware })?.({ firmware: found, boards: [] })).toBe(isMet);
});

it('all conditions have to be met, of boards by one of them, and none by an unknown router', () => {
  const condition = compileCondition({ firmware: '>5', board: ['MRX?', 'ECR-*'] });
  expect(condition?.({ firmware: '6', boards: ['IO', 'MRX3'] })).toBe(true);
  expect(condition?.({ firmware: '6', boards: ['IO', 'MRX33'] })).toBe(false);
  expect(condition?.({ firmware: '5', boards: ['ECR-1'] })).toBe(false);
  expect(condition?.({ firmware: '6', boards: [] })).toBe(false);
  expect(condition?.(undefined)).toBe(false);
  expect(compileCondition(undefined)).toBeUndefined();
});
