import { expect, test } from 'vitest';
import { hasContent } from '../../src/status/read-target.ts';

test.for([
  [undefined],
  [null],
  [{}],
  [[]],
  [''],
  [' --- '],
  [{ status: { list: [] } }],
  [{ status: { unique: { name: '---', ip: '' }, list: [{}, null] } }],
])('%j says nothing', ([document]) => {
  expect(hasContent(document)).toBe(false);
});

test.for([[0], [false], ['x'], [{ status: { list: [{}, { name: 'wan1' }] } }], [[[['deep']]]]])(
  '%j says something',
  ([document]) => {
    expect(hasContent(document)).toBe(true);
  },
);

test('a document without end is looked at no further than any real one goes', () => {
  expect(hasContent(Array.from({ length: 100_000 }, () => ''))).toBe(true);
});
