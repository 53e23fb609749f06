import { describe, expect, test } from 'vitest';
import { measureJourneys, STEPS } from '../tools/journeys.ts';
import { ASSETS, measureSize, measureText, readSizeBounds } from '../tools/size.ts';

const BOUNDS = readSizeBounds();

describe('the program is no larger than tools/size-bounds.json allows', () => {
  test('in code lines of src, simulator and assets apart', () => {
    expect(measureSize('src', 'src/simulator/', ASSETS).codeLines).toBeLessThanOrEqual(BOUNDS.codeLines);
  });

  test('in files and exported names of src', () => {
    const { files, exportedNames } = measureSize('src');
    expect(files).toBeLessThanOrEqual(BOUNDS.files);
    expect(exportedNames).toBeLessThanOrEqual(BOUNDS.exportedNames);
  });

  test('in files that a step passes', async () => {
    const journeys = await measureJourneys();
    for (const step of STEPS) {
      expect(journeys[step].length, step).toBeGreaterThan(0);
      expect(journeys[step].length, `${step}: ${journeys[step].join(' ')}`).toBeLessThanOrEqual(BOUNDS.journeys[step]);
    }
  });
});

describe('measureText', () => {
  test('counts neither comments nor blank lines, and a long line as several', () => {
    const text = `// a\n\n/** b\n c */\nconst one = '// no comment';\nconst two = '${'x'.repeat(120)}'; // c\n`;
    expect(measureText('a.ts', text).codeLines).toBe(3);
  });

  test('counts names that a file exports by itself', () => {
    const text =
      "export const one = 1, two = 2;\nexport type Three = 3;\nexport { four } from './b.ts';\nexport * from './c.ts';\n";
    expect(measureText('a.ts', text).exportedNames).toBe(3);
  });
});
