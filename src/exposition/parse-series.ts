import type { Labels, Sample } from '../model/index.ts';

const LABEL = /([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\]|\\.)*)",?/y;

/** Parses lines that this module has rendered, without the labels that are the same for all series of a router. */
export function parseSeries(lines: string, common: Labels): readonly Sample[] {
  return lines.split('\n').flatMap((line): Sample[] => {
    const end = line.lastIndexOf(' ');
    if (end < 0) return [];
    const begin = line.indexOf('{');
    const labels =
      begin < 0 || begin > end ? {} : parseLabels(line.slice(begin + 1, line.lastIndexOf('}', end)), common);
    return [{ labels, value: parseValue(line.slice(end + 1)) }];
  });
}

function parseLabels(pairs: string, common: Labels): Labels {
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  for (let match = LABEL.exec(pairs); match; match = LABEL.exec(pairs)) {
    const [, name = '', escaped = ''] = match;
    const value = escaped.replaceAll(/\\(.)/g, (_all, letter: string) => (letter === 'n' ? '\n' : letter));
    if (common[name] !== value) labels[name] = value;
  }
  return labels;
}

function parseValue(text: string): number {
  if (text === '+Inf') return Number.POSITIVE_INFINITY;
  return text === '-Inf' ? Number.NEGATIVE_INFINITY : Number(text);
}
