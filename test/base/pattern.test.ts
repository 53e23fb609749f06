import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CodedError, compilePattern, PatternError } from '../../src/base/index.ts';

/** The error that `compilePattern` throws. */
function failureOf(source: string): PatternError {
  try {
    compilePattern(source);
  } catch (error) {
    if (error instanceof PatternError) return error;
    throw error;
  }
  throw new RangeError(`${source} compiles`);
}

const KIB_64 = 65_536;

describe('compilePattern()', () => {
  it('keeps the source and names the groups in their order, in both ways to write them', () => {
    const { source, groups } = compilePattern('(?P<b>x)(y)(?<a>z)');
    expect([source, groups]).toEqual(['(?P<b>x)(y)(?<a>z)', ['b', 'a']]);
  });

  it.each([
    ['(a', 'A "(" is never closed; write \\( for the character'],
    ['a)', 'A ")" has no "(" before it; write \\) for the character'],
    ['[a', 'A "[" is never closed; write \\[ for the character'],
    ['a|*', '"*" has nothing before it to repeat; write \\* for the character'],
    ['a**', '"**" repeats a repetition; put (?:…) around the first one'],
    ['a{2000}', '"{2000}" is not a valid repeat count: at most 1000, multiplied by those around it'],
    ['a\\', 'A "\\" at the end escapes nothing; write \\\\ for the character'],
    ['(a)\\1', '"\\\\1" is a back-reference, which RE2 does not support'],
    ['\\y', '"\\\\y" is not an escape sequence of RE2'],
    ['[z-a]', '"z-a" is not a valid range or character class'],
    ['(?P<a>x)(?<a>y)', 'Two groups have the name "a"'],
    ['(?P<a-b>x)', '"(?P<a-b>" is not a valid named group; write (?P<name>…) with letters, digits and "_"'],
    ['(?<=a)b', 'RE2 does not support lookbehind: "(?<=" or "(?<!"'],
    ['a(?!b)', 'RE2 does not support lookahead: "(?=" or "(?!"'],
    ['(?#a)', '"(?#" is not supported by RE2'],
    [`(?P<${'-'.repeat(200)}>x)`, expect.stringMatching(/^"\(\?P<-{28}…" is not/)],
  ])('says of %s what is wrong', (source, message) => {
    expect(failureOf(source)).toMatchObject({ code: 'syntax', disposition: 'operator', message });
  });

  it('is of the family of coded errors, with what the library said as its cause', () => {
    const failure = failureOf('(a');
    expect(failure).toBeInstanceOf(CodedError);
    expect(failure.cause).toBeInstanceOf(Error);
  });

  it('takes 1,000 characters and refuses one more', () => {
    expect(compilePattern(`[${'a'.repeat(998)}]`).match('a')).toEqual({});
    expect(failureOf(`[${'a'.repeat(999)}]`)).toMatchObject({
      code: 'size',
      message: 'The pattern has 1001 characters; the limit is 1000',
    });
  });

  it('refuses a short pattern that is large with its repetitions written out', () => {
    expect(compilePattern('(?:ab?){100}').match('ab')).toBeUndefined();
    expect(failureOf('(?:ab?){300}')).toMatchObject({
      code: 'size',
      message: expect.stringContaining('too large with its repetitions written out'),
    });
  });

  it('takes any text for a pattern, or refuses it with a message', () => {
    const alphabet = Array.from('ab01(?P<>:=!)[^-]*+?{,}|\\.$\n\ud800é𐍈');
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...alphabet), maxLength: 20 }), (source) => {
        try {
          compilePattern(source).match('ab01');
        } catch (error) {
          expect(error).toBeInstanceOf(PatternError);
          expect((error as PatternError).message).not.toMatch(/regexp|undefined|^Invalid pattern/);
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe('Pattern.match()', () => {
  it('gives the named groups of the first match, also those that took no part', () => {
    const pattern = compilePattern('login (?P<ok>succeeded)?(?P<bad>failed)? for (?P<user>\\w+)');
    expect(pattern.match('a login failed for x; login succeeded for y')).toEqual({
      ok: undefined,
      bad: 'failed',
      user: 'x',
    });
    expect(pattern.match('logout')).toBeUndefined();
  });

  it('gives the same for the same text again', () => {
    const pattern = compilePattern('(?P<a>x+)');
    expect([pattern.match('xx'), pattern.match('y'), pattern.match('xx')]).toEqual([
      { a: 'xx' },
      undefined,
      { a: 'xx' },
    ]);
  });

  it('has a group of any name as a key of its own', () => {
    const groups = compilePattern('(?P<__proto__>x)(?P<constructor>y)?').match('x');
    expect(Object.entries(groups ?? {})).toEqual([
      ['__proto__', 'x'],
      ['constructor', undefined],
    ]);
  });

  it.each(['(a*)*b', '(x+x+)+y', '(?P<a>x+x+)+y', '(?:x?){150}x{150}$', '(?P<a>.*).*.*(?P<b>.*)=$', '(x|xx|x*)*[^x]'])(
    'comes to an end with %s on 64 KiB',
    (source) => {
      const pattern = compilePattern(source);
      const ends = ['x'.repeat(KIB_64), 'xa'.repeat(KIB_64 / 2), `${'x'.repeat(KIB_64 - 1)}!`].map(
        (text) => pattern.match(text) ?? 'none',
      );
      expect(ends).toHaveLength(3);
    },
  );
});

describe('Pattern.replaceAll()', () => {
  it('replaces every match, and takes the replacement as it is written', () => {
    const pattern = compilePattern('key=(?P<key>\\S+)');
    expect(pattern.replaceAll('key=a key=b, key=', '$1$&${key}\\')).toBe('$1$&${key}\\ $1$&${key}\\ key=');
    expect(pattern.replaceAll('nothing', '-')).toBe('nothing');
  });

  it('keeps the text before, between and after, characters beyond 16 bits included', () => {
    expect(compilePattern('[é𐍈]').replaceAll('aé𐍈b😀𐍈', '-')).toBe('a--b😀-');
  });

  it('does not take an empty match for one', () => {
    expect(compilePattern('x*').replaceAll('axxbx', '-')).toBe('a-b-');
  });

  it('does what the runtime does, wherever both know the pattern', () => {
    const source = fc.constantFrom('a', 'ab', 'a+', '[ab]c?', '(?:a|bc)+', 'a.c', '^a', 'c$', '\\bab\\b');
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', ' ', 'é'), maxLength: 30 });
    fc.assert(
      fc.property(source, text, (pattern, value) => {
        const expected = value.replaceAll(new RegExp(pattern, 'gu'), '<>');
        expect(compilePattern(pattern).replaceAll(value, '<>')).toBe(expected);
      }),
    );
  });

  it('replaces a thousand matches in a text of the length that routers write', () => {
    const text = 'a=1.2.3.'.repeat(1000);
    expect(compilePattern('a=').replaceAll(text, '')).toBe('1.2.3.'.repeat(1000));
  });

  it('replaces the rest of the text where each match would be searched for up to its end', () => {
    const result = compilePattern('x[^!]*y|x').replaceAll(`-${'x'.repeat(KIB_64 - 1)}`, '*');
    expect(result).toMatch(/^-\*{10,1000}$/);
  });

  it('replaces the rest of the text where the result would grow beyond a bound', () => {
    const result = compilePattern('x').replaceAll(`-${'x'.repeat(1000)}-`, '0123456789'.repeat(10));
    expect(result).toMatch(/^-(0123456789)+$/);
    expect(result.length).toBeLessThanOrEqual(KIB_64 + 200);
  });
});
