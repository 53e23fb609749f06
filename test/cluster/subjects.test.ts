import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { fromToken, Subjects, toToken } from '../../src/cluster/subjects.ts';
import { countRuns } from '../support/sampled.ts';

const name = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({
    unit: fc.constantFrom('a', '.', '_', '%', '2', 'E', 'u', 'd', '8', '0', '*', '>', ' ', 'ü', '\ud800'),
    maxLength: 8,
  }),
);

test('toToken() gives each name a token of its own, of which fromToken() makes the name again', () => {
  fc.assert(
    fc.property(name, name, (one, other) => {
      const token = toToken(one);
      expect(token).toMatch(/^[A-Za-z0-9_%-]+$/);
      expect(fromToken(token)).toBe(one);
      if (one !== other) expect(toToken(other)).not.toBe(token);
    }),
    { numRuns: countRuns(2000) },
  );
});

test('fromToken() gives no name for what is no token', () => {
  fc.assert(
    fc.property(name, (text) => {
      const decoded = fromToken(text);
      expect(decoded === undefined || toToken(decoded) === text).toBe(true);
    }),
    { numRuns: countRuns(2000) },
  );
  expect(['', 'a.b', '%2', '%zz', '%41', 'plant 7'].map((text) => fromToken(text))).toEqual(
    Array.from({ length: 6 }, () => undefined),
  );
});

test('Subjects keeps plant.7 and plant_7 apart, in the cluster, its routers, logs, values and sinks', () => {
  const subjects = new Subjects('munich');
  const of = (router: string) => subjects.of({ kind: 'rec', router, component: 'network' });
  expect([of('plant.7'), of('plant_7')]).toEqual(['rx.munich.rec.plant%2E7.network', 'rx.munich.rec.plant_7.network']);
  expect(new Subjects('a.b').stream).not.toBe(new Subjects('a_b').stream);
});

test('Subjects.parse() gives the topic of each subject, and none for others', () => {
  const subjects = new Subjects('plant.1');
  const topic = fc.oneof(
    fc.record({ kind: fc.constantFrom('rec' as const, 'pos' as const), router: name, component: name }),
    fc.record({ kind: fc.constant('fact' as const), router: name }),
    fc.record({ kind: fc.constant('val' as const), router: name, key: name }),
    fc.record({ kind: fc.constant('cur' as const), sink: name }),
  );
  fc.assert(
    fc.property(topic, (one) => {
      expect(subjects.parse(subjects.of(one))).toEqual(one);
    }),
    { numRuns: countRuns(1000) },
  );
  const strange = [
    'rx.plant%2E1.rec.a',
    'rx.plant%2E1.rec.a.b.c',
    'rx.other.rec.a.b',
    'rx.plant%2E1.new.a.b',
    'rx.plant%2E1.cur.%zz',
  ];
  expect(strange.map((subject) => subjects.parse(subject))).toEqual(strange.map(() => undefined));
});
