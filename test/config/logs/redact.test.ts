import { describe, expect, it } from 'vitest';
import { load, withRouter } from '../configuration-folder.ts';

async function redactOf(redact: string, env: Record<string, string> = {}) {
  const { config, lines } = await load(`redact: ${redact}\n${withRouter()}`, { env });
  expect(lines).toEqual([]);
  return config?.redact;
}

async function faultsOf(redact: string): Promise<string[]> {
  const { lines } = await load(`redact: ${redact}\n${withRouter()}`);
  return lines.map((line) => line.replace('router-exporter.yaml:', ''));
}

describe('loadConfig() on redact', () => {
  it('takes patterns as text and as maps, in their order', async () => {
    expect(await redactOf(`['a+', { pattern: b }, { pattern: 'c\\d', replacement: "" }]`)).toEqual([
      { pattern: 'a+', replacement: '[redacted]' },
      { pattern: 'b', replacement: '[redacted]' },
      { pattern: 'c\\d', replacement: '' },
    ]);
  });

  it('fills in the environment', async () => {
    expect(await redactOf(`['\\Q\${TOKEN}\\E']`, { TOKEN: 'a.b' })).toEqual([
      { pattern: '\\Qa.b\\E', replacement: '[redacted]' },
    ]);
  });

  it.each([
    ['x', '1:9: redact: Expected a list of at most 100 patterns; found "x"'],
    [`[a, 'b(']`, '1:13: redact[1]: A "(" is never closed; write \\( for the character'],
    ['[{ pattern: "[" }]', '1:21: redact[0].pattern: A "[" is never closed; write \\[ for the character'],
    ['[7]', '1:10: redact[0]: Expected a pattern as text, or a map of keys with one; found the number 7'],
    ['[{ patern: a }]', '1:12: redact[0].patern: Unknown key; did you mean "pattern"?'],
    ['["x*"]', '1:10: redact[0]: The pattern matches the empty text; it must match at least one character'],
    [
      `[{ pattern: x, replacement: ${'y'.repeat(65)} }]`,
      /^1:37: redact\[0\]\.replacement: Expected text of at most 64 characters/,
    ],
    ['[""]', /^1:10: redact\[0\]: Expected text of 1 to 4096 characters/],
    [`[${'a,'.repeat(101)}]`, '1:9: redact: Expected a list of at most 100 patterns; found a list of 101'],
  ])('refuses %s', async (redact, fault) => {
    const lines = await faultsOf(redact);
    expect(lines.filter((line) => !line.includes('Missing key'))).toEqual([
      typeof fault === 'string' ? fault : expect.stringMatching(fault),
    ]);
  });

  it('says what a map without a pattern lacks', async () => {
    expect(await faultsOf('[{ replacement: x }]')).toEqual([
      '1:10: redact[0].pattern: Missing key; expected text of 1 to 4096 characters (a number needs quotes)',
    ]);
  });
});
