import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { configSchema, toJsonSchema } from '../../src/config/schema.ts';
import { PROJECT, parsePage } from './read-pages.ts';

const text = readFileSync(join(PROJECT, 'docs/sinks.md'), 'utf8');
/** Sections about one type. */
const sections = text.split(/^(?=## )/m).filter((section) => section.includes('\n**Here.**'));

test('each type of sink has a section with what to set, the first record, what is promised, and details, in this order', () => {
  const variants = toJsonSchema(configSchema).properties?.['sinks']?.items?.oneOf ?? [];
  const types = variants.map(({ properties }) => properties?.['type']?.const);
  expect(types.length).toBeGreaterThan(7);
  const shown = sections.map((section) => {
    const [{ text: yaml } = { text: '' }] = parsePage('sinks.md', section).blocks.filter(
      ({ language }) => language === 'yaml',
    );
    return (parse(yaml) as { readonly sinks: readonly { readonly type: string }[] }).sinks[0]?.type;
  });
  expect(new Set(shown)).toEqual(new Set(types));
  for (const section of sections) {
    expect(section).toMatch(
      /\n\*\*There\.\*\* .*\n\*\*Here\.\*\*.*\n\*\*First record\.\*\*.*\n\*\*Promised\.\*\*\n.*\n\| Order \|.*\n\| Repeats \|.*\n\| Loss \|.*\n### Details of /s,
    );
  }
});
