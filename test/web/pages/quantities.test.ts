import { expect, test } from 'vitest';
import { renderBytes } from '../../../src/base/index.ts';
import { renderAgo, renderLength, renderMoment, toShown } from '../../../src/web/pages/html.ts';

test.for([
  [null, '–'],
  [Number.NaN, '–'],
  [0, '0 s'],
  [0.254, '0.25 s'],
  [9.999, '10 s'],
  [89.4, '89 s'],
  [90, '2 min'],
  [3570, '1 h'],
  [3599, '1 h'],
  [7500, '2 h 5 min'],
  [7200, '2 h'],
  [172_800, '2 d'],
  [183_600, '2 d 3 h'],
  [1_000_000, '11 d'],
  [-5, '5 s ahead'],
] as const)('a length of %j seconds reads %s', ([seconds, text]) => {
  expect(renderLength(seconds)).toBe(text);
});

test.for([
  [0, '0 B'],
  [1023, '1023 B'],
  [1024, '1.0 KiB'],
  [150_000, '146 KiB'],
  [5_000_000, '4.8 MiB'],
  [2 ** 60, '1048576 TiB'],
] as const)('%d bytes read %s', ([bytes, text]) => {
  expect(renderBytes(bytes)).toBe(text);
});

test('a moment is how long ago it was, and the moment itself; what is none is nothing', async () => {
  expect(String(await renderAgo('1970-01-01T00:00:01Z', 61_900))).toBe(
    '<time datetime="1970-01-01T00:00:01Z" title="1970-01-01T00:00:01Z">60 s ago</time>',
  );
  expect([renderAgo(null, 0), renderAgo('yesterday', 0), renderMoment('yesterday')]).toEqual(['–', '–', '–']);
});

test.for([
  ['a\tb\r\n c', 'a b c'],
  ['a\u0000b\u202ec\u009b', 'a\ufffdb\ufffdc\ufffd'],
  ['\ud800', '\ufffd'],
  ['x'.repeat(401), `${'x'.repeat(400)}…`],
] as const)('text from outside is shown on one line, cut and without what cannot be seen: %j', ([text, shown]) => {
  expect(toShown(text)).toBe(shown);
});
