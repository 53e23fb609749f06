import { expect, test } from 'vitest';
import { expandPath, STATUS_PATHS } from '../../src/status/index.ts';

test('STATUS_PATHS are those of firmware 9.5, each once', () => {
  expect(new Set(STATUS_PATHS).size).toBe(STATUS_PATHS.length);
  expect(STATUS_PATHS).toHaveLength(65);
  for (const path of [
    'overview',
    'sysdetail/system',
    'ethernet1',
    'ethernet5',
    'dsl5/statistics_spectrum',
    'lte_serial2/providers',
  ]) {
    expect(STATUS_PATHS).toContain(path);
  }
  expect(STATUS_PATHS).not.toContain('ethernet2');
});

test.for([
  ['lte*', 'lte2 lte3 lte4 lte5'],
  ['lte_serial*', 'lte_serial2 lte_serial3 lte_serial4 lte_serial5'],
  ['ethernet*', 'ethernet1 ethernet3 ethernet4 ethernet5'],
  ['dsl*/status', 'dsl2/status dsl3/status dsl4/status dsl5/status'],
  ['wlan*', 'wlan1'],
  ['gnss*', 'gnss1 gnss2 gnss3 gnss4 gnss5'],
  ['sysstat/wan', 'sysstat/wan'],
  ['lte7', 'lte7'],
  ['/profiles', '/profiles'],
])('expandPath() makes of %s the paths %s', ([path = '', paths]) => {
  expect(expandPath(path).join(' ')).toBe(paths);
});
