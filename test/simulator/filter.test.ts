import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseFilter, selectEntries } from '../../src/simulator/configuration/filter.ts';
import { resourceTable } from '../../src/simulator/configuration/resources.ts';
import type { Entry } from '../../src/simulator/configuration/state.ts';
import { Rejection } from '../../src/simulator/rejection.ts';

const list = resourceTable.get('wan/wans')?.list;
if (!list) throw new TypeError('The table has no WAN chains');

/** Few letters in both cases, so that conditions often meet. */
const word = fc.string({ unit: fc.constantFrom('a', 'A', 'b', 'ß', '1'), maxLength: 3 });
const inner = fc.record({ interface: word, check_type: word });
const entries = fc.array(
  fc.record({ description: word, active: fc.constantFrom('0', '1'), sublist: fc.array(inner, { maxLength: 3 }) }),
  {
    maxLength: 6,
  },
);
const condition = fc.record({
  p: fc.constantFrom('description', 'active', 'interface', 'check_type', 'name'),
  o: fc.constantFrom('eq' as const, 'like' as const),
  v: fc.oneof(word, fc.array(word, { minLength: 1, maxLength: 3 })),
});
const filter = fc.oneof(condition, fc.array(condition, { minLength: 1, maxLength: 3 }));

type Condition = { p: string; o: 'eq' | 'like'; v: string | string[] };
type Plain = { description: string; active: string; sublist: { interface: string; check_type: string }[] };

/** The rules once more, as plainly as they can be said. */
function meets(value: string, { o, v }: Condition): boolean {
  const values = typeof v === 'string' ? [v] : v;
  for (const one of values) {
    if (o === 'eq' && value === one) return true;
    if (o === 'like' && value.toLowerCase().includes(one.toLowerCase())) return true;
  }
  return false;
}

function expectSelection(plain: Plain[], filters: Condition[]): [number, number[]][] {
  const result: [number, number[]][] = [];
  for (const [position, { description, active, sublist }] of plain.entries()) {
    const outer: Record<string, string> = { description, active, name: `wan${position + 1}` };
    let isMet = true;
    for (const one of filters) if (one.p in outer && !meets(outer[one.p] ?? '', one)) isMet = false;
    const onInner = filters.filter(({ p }) => !(p in outer));
    const met = sublist.flatMap((sub: Record<string, string>, at) =>
      onInner.every((one) => meets(sub[one.p] ?? '', one)) ? [at] : [],
    );
    if (isMet && (onInner.length === 0 || met.length > 0)) result.push([position, met]);
  }
  return result;
}

function toEntry({ description, active, sublist }: Plain, position: number): Entry {
  return {
    uid: `uid${position}`,
    index: `wan${position + 1}`,
    fields: { description, active },
    sublist: sublist.map((fields, at) => ({ uid: String(at), fields })),
  };
}

describe('filters', () => {
  test('select what the plain reference selects', () => {
    fc.assert(
      fc.property(entries, filter, (plain, json) => {
        const parsed = parseFilter(JSON.stringify(json));
        if (parsed instanceof Rejection) return expect.unreachable();
        const selected = selectEntries(list, plain.map(toEntry), parsed);
        if (selected instanceof Rejection) return expect.unreachable();
        const actual = selected.map(({ entry, sublist }) => [
          Number(entry.uid.slice(3)),
          sublist.map(({ uid }) => Number(uid)),
        ]);
        expect(actual).toEqual(expectSelection(plain, Array.isArray(json) ? json : [json]));
      }),
      { numRuns: 2000, seed: 7 },
    );
  });

  test('an added condition never selects more, an added value never less', () => {
    const select = (plain: Plain[], json: unknown) => {
      const parsed = parseFilter(JSON.stringify(json));
      const selected = parsed instanceof Rejection ? parsed : selectEntries(list, plain.map(toEntry), parsed);
      return selected instanceof Rejection ? [] : selected.map(({ entry }) => entry.uid);
    };
    fc.assert(
      fc.property(entries, condition, condition, word, (plain, one, other, more) => {
        const base = select(plain, one);
        expect(base).toEqual(expect.arrayContaining(select(plain, [one, other])));
        expect(select(plain, { ...one, v: [one.v, more].flat() })).toEqual(expect.arrayContaining(base));
      }),
      { seed: 7 },
    );
  });

  test('anything else is refused with 400, whatever it is', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        const parsed = parseFilter(text);
        if (parsed instanceof Rejection) expect(parsed.status).toBe(400);
        else expect(parsed.length).toBeGreaterThan(0);
      }),
      { numRuns: 1000, seed: 7 },
    );
  });

  test.each([
    '',
    '{',
    'null',
    '[]',
    '[[]]',
    '{"p":"a","o":"eq"}',
    '{"p":"a","o":"eq","v":[]}',
    '{"p":"a","o":"eq","v":"x","w":1}',
  ])('parseFilter() refuses %s', (text) => {
    expect(parseFilter(text)).toBeInstanceOf(Rejection);
  });
});
