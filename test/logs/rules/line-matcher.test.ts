import { describe, expect, it } from 'vitest';
import { compilePattern, createSeededRandom, createSteppedClock } from '../../../src/base/index.ts';
import {
  LineMatcher,
  type LogRuleSettings,
  listCostlyPatterns,
  MatchTotals,
  SHIPPED_RULES,
} from '../../../src/logs/index.ts';
import { findLiterals } from '../../../src/logs/rules/literals.ts';

const WORDS = 'login|logins|success|failed|ok|wan_chain|WAN2|up|UP|ſuccess|\u212aernel|reboot|ing|Modem|x|ö|[|]|.|*|42';

function createRule(pattern: string, labels: readonly string[] = []): LogRuleSettings {
  return { name: `r_${pattern}`, help: '', type: 'counter', components: ['*'], pattern, labels, fixed_labels: {} };
}

/** Runs every pattern on every line. */
function searchPlainly(patterns: readonly string[], line: string): string[] {
  return patterns
    .filter((pattern) => compilePattern(pattern).match(line) !== undefined)
    .map((pattern) => `r_${pattern}`);
}

describe('findLiterals()', () => {
  it.each<[string, string[][][] | undefined]>([
    ['login', [[['login']]]],
    ['(?i)LogIn', [[['login']]]],
    ['a(?:bc|d)e', [[['abce', 'ade']]]],
    ['foo|bar', [[['foo', 'bar']]]],
    ['foo.*bar', [[['foo'], ['bar']]]],
    ['foo.*bar|baz\\d', [[['foo'], ['bar']], [['baz']]]],
    [String.raw`\bwan[ -]?chain\b`, [[['wanchain', 'wan chain', 'wan-chain']]]],
    ['(?P<state>on|off)line', [[['online', 'offline']]]],
    ['log(?:in)?', [[['log']]]],
    ['key=[0-9]', [[['key=0', 'key=1', 'key=2', 'key=3', 'key=4', 'key=5', 'key=6', 'key=7', 'key=8', 'key=9']]]],
    ['ab{2}cd', [[['cd']]]],
    ['(?:secret){2,}', [[['secret']]]],
    [String.raw`a\.b`, [[['a.b']]]],
    ['foo|', undefined],
    [String.raw`\d+`, undefined],
    ['(?:abc)*', undefined],
    ['[a-z]{3}', undefined],
    ['x', undefined],
    [String.raw`\x41bcd`, undefined],
    [String.raw`\pLabc`, undefined],
    [String.raw`\Qa.b\Ecd`, undefined],
  ])('finds in %s what no match is without', (pattern, needs) => {
    compilePattern(pattern);
    expect(findLiterals(pattern)).toEqual(needs);
  });

  it('knows literals of every shipped rule', () => {
    expect(SHIPPED_RULES.filter(({ pattern }) => findLiterals(pattern) === undefined)).toEqual([]);
  });
});

describe('LineMatcher', () => {
  it('finds what pattern by pattern finds, in lines of any words', () => {
    const random = createSeededRandom(7);
    const pick = (list: readonly string[]) => list[Math.floor(random() * list.length)] ?? '';
    const words = WORDS.split('|');
    const atoms = [
      ...words.filter((word) => /^[\w\d]+$/.test(word)),
      '.',
      String.raw`\b`,
      String.raw`\s`,
      '[ -]',
      '[a-f]',
      'ö',
      '^',
      '$',
    ];
    const build = (depth: number): string => {
      const shape = Math.floor(random() * (depth > 3 ? 2 : 8));
      if (shape < 2) return pick(atoms);
      if (shape < 5) return build(depth + 1) + build(depth + 1);
      if (shape === 5) return `(?:${build(depth + 1)}|${build(depth + 1)})`;
      if (shape === 6) return `(?:${build(depth + 1)})${pick(['*', '+', '?', '{2}', '{0,2}', '{1,}', '+?'])}`;
      return `(?i:${build(depth + 1)})`;
    };
    for (let round = 0; round < 150; round++) {
      const patterns = Array.from({ length: 6 }, () => (random() < 0.3 ? '(?i)' : '') + build(0)).filter(isValid);
      const matcher = new LineMatcher(patterns.map((pattern) => createRule(pattern)));
      for (let line = 0; line < 20; line++) {
        const text = Array.from({ length: 6 }, () => pick(words)).join(pick([' ', '', '-']));
        const totals = new MatchTotals();
        matcher.of('network')?.search(text, totals);
        const found = totals.list().map(({ metric }) => metric);
        expect(found, `${JSON.stringify(patterns)} in "${text}"`).toEqual(searchPlainly([...patterns], text));
      }
    }
  });

  it('removes what pattern by pattern removes, also what only an earlier replacement has brought in', () => {
    const matcher = new LineMatcher(
      [],
      [
        { pattern: 'one', replacement: 'token' },
        { pattern: 'token=[0-9]+', replacement: '***' },
      ],
    ).of('network');
    expect(matcher?.redact('one=17 token=18 two')).toBe('*** *** two');
    expect(matcher?.redact('nothing here')).toBe('nothing here');
    expect(matcher?.redact('token=3')).toBe('***');
  });

  it('searches the lines of a component for the rules of that component alone', () => {
    const matcher = new LineMatcher([{ ...createRule('link'), components: ['*', '!kernel'] }]);
    const count = (component: string) => {
      const totals = new MatchTotals();
      matcher.of(component)?.search('link up', totals);
      return totals.list().length;
    };
    expect([count('network'), count('kernel')]).toEqual([1, 0]);
  });

  it('matches with more literals than the automaton has room for', () => {
    const word = (index: number) => `${String.fromCharCode(97 + (index % 26))}${index}-with-a-long-tail-x`;
    const rules = Array.from({ length: 100 }, (_, rule) => ({
      ...createRule(Array.from({ length: 18 }, (__, part) => word(rule * 18 + part)).join('|')),
      name: `rule_${rule}`,
    }));
    const matcher = new LineMatcher(rules).of('network');
    for (const rule of [0, 50, 99]) {
      const totals = new MatchTotals();
      matcher?.search(`x ${word(rule * 18 + 7)} y`, totals);
      expect(totals.list().map(({ metric }) => metric)).toEqual([`rule_${rule}`]);
    }
  });
});

function isValid(pattern: string): boolean {
  try {
    return compilePattern(pattern) !== undefined;
  } catch {
    return false;
  }
}

/** Patterns with more characters of literals than there is room for: the last ones run on every line. */
const CROWD = Array.from({ length: 500 }, (_, index) => `${String(index).padStart(4, 'word')} is written here`);

describe('Patterns beyond the room for literals', () => {
  it('are listed, and find their lines nevertheless', () => {
    const rules = CROWD.map((pattern) => createRule(pattern));
    const costly = listCostlyPatterns(rules, [], createSteppedClock(0));
    expect(costly.length).toBeGreaterThan(10);
    expect(costly.map(({ pattern }) => pattern)).toEqual(CROWD.slice(-costly.length));
    expect(new Set(costly.map(({ reason }) => reason))).toEqual(new Set(['no-room']));
    const matcher = new LineMatcher(rules).of('network');
    const totals = new MatchTotals();
    matcher?.search(`now ${CROWD[0]} and ${CROWD.at(-1)}`, totals);
    expect(totals.list().map(({ metric }) => metric)).toEqual([`r_${CROWD[0]}`, `r_${CROWD.at(-1)}`]);
  });

  it('leave no line out that is read as bytes', () => {
    const last = CROWD.at(-1) ?? '';
    const lines = ['nothing at all', `GET /api/v2_0/status/wan`, last].map((text) => Buffer.from(`${text}\n`));
    const matcher = new LineMatcher(CROWD.map((pattern) => createRule(pattern))).of('network');
    for (const line of lines) {
      expect(matcher?.readPlain(line, 0)).toBe(line.length - 1);
      expect(matcher).toMatchObject({ mayChange: true, mayMatch: true });
    }
    const redacting = new LineMatcher(
      [],
      CROWD.map((pattern) => ({ pattern, replacement: '' })),
    ).of('network');
    redacting?.readPlain(Buffer.from(`${last}\n`), 0);
    expect(redacting?.mayChange).toBe(true);
  });
});

describe('MessageMatcher.readPlain()', () => {
  const matcher = new LineMatcher([createRule('wan chain')], [{ pattern: 'password=', replacement: '' }]).of('network');

  it.each([
    ['nothing here\nwan chain', 12, false, false],
    ['the WAN Chain is up\n', 19, false, true],
    ['a password="x"\n', 11, true, false],
    ['GET /status\n', 11, true, false],
    ['wan chäin\n', 6, false, false],
    ['wan chain', 9, false, true],
    ['tab\t', 3, false, false],
    ['\\', 0, false, false],
    ['', 0, false, false],
  ])('finds in %j where it ends and what it contains', (text, end, mayChange, mayMatch) => {
    expect(matcher?.readPlain(Buffer.from(`xx${text}`), 2)).toBe(end + 2);
    expect(matcher).toMatchObject({ mayChange, mayMatch });
  });
});
