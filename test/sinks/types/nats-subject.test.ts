import { expect, test } from 'vitest';
import { createSeededRandom } from '../../../src/base/index.ts';
import { isCovering, toNatsSubject } from '../../../src/sinks/types/nats/subjects.ts';
import { sampleRecord } from '../../support/sinks/sample-records.ts';

const toSubject = (site: string | undefined, router: string, component: string) =>
  toNatsSubject('logs', sampleRecord('a', { router, component, labels: site === undefined ? {} : { site } }).fields);

test.for([
  ['munich', 'plant-7', 'network', 'logs.munich.plant-7.network'],
  ['site_2', 'plant_7', 'wan-2', 'logs.site_2.plant_7.wan-2'],
  [undefined, 'plant.7', 'network', 'logs.none.plant%2E7.network'],
  ['', 'a b', '*.>', 'logs.none.a%20b.%2A%2E%3E'],
  ['none', 'système', '', 'logs.%6Eone.syst%C3%A8me.%'],
  ['100%', '\ud800', '%2E', 'logs.100%25.%ud800.%252E'],
] as const)('toNatsSubject() of %j, %j and %j is %s', ([site, router, component, expected]) => {
  expect(toSubject(site, router, component)).toBe(expected);
});

test('toNatsSubject() bounds what a router says', () => {
  const [one, other] = [toSubject('.'.repeat(300), 'r', 'c'), toSubject('.'.repeat(301), 'r', 'c')];
  expect(one).toMatch(/^logs\.(%2E)+%?2?%~[\w-]{43}\.r\.c$/);
  expect(one.length).toBeLessThan(200);
  expect(other).not.toBe(one);
  expect(toSubject('x'.repeat(200), 'r', 'c')).toBe(`logs.${'x'.repeat(200)}.r.c`);
});

test('toNatsSubject() gives different names different subjects, which servers accept', () => {
  const random = createSeededRandom(1);
  const signs = [
    'a',
    'none',
    '_',
    '-',
    '.',
    '%',
    '2E',
    '~',
    '*',
    '>',
    ' ',
    '\t',
    '\0',
    'è',
    '𝄞',
    '\ud834',
    '\udd1e',
    'é',
  ];
  const choose = () => signs[Math.floor(random() * signs.length)] ?? '';
  const name = () => Array.from({ length: 1 + Math.floor(random() * (random() < 0.1 ? 200 : 3)) }, choose).join('');
  const places = new Map<string, string>();
  for (let index = 0; index < 5000; index++) {
    const names = [random() < 0.2 ? undefined : name(), name(), random() < 0.05 ? '' : name()] as const;
    const subject = toSubject(...names);
    expect(subject).toMatch(/^logs(\.[A-Za-z0-9_%~-]{1,200}){3}$/);
    const place = JSON.stringify(names);
    expect(places.get(subject) ?? place).toBe(place);
    places.set(subject, place);
  }
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
