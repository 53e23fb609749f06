/** The samples of a scrape, parsed as Prometheus does. */
export interface Exposition {
  readonly families: ReadonlyMap<string, { readonly help: string; readonly type: string }>;
  readonly samples: readonly {
    readonly name: string;
    readonly labels: Record<string, string>;
    readonly value: number;
  }[];
  /** The values of one family by one of its labels. */
  values(name: string, label: string): Record<string, number>;
}

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*';
const PAIR = String.raw`([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"`;
const SAMPLE = new RegExp(String.raw`^(${NAME})(?:\{(${PAIR}(?:,${PAIR})*)\})? (\S+)$`);
const VALUE = /^(?:[+-]Inf|NaN|-?\d+(?:\.\d+)?(?:e[+-]\d+)?)$/;

/** Reads the text format 0.0.4 strictly; throws at the first line that a scraper would refuse. */
export function parseExposition(text: string): Exposition {
  const families = new Map<string, { help: string; type: string }>();
  const samples: { name: string; labels: Record<string, string>; value: number }[] = [];
  const known = new Set<string>();
  if (text !== '' && !text.endsWith('\n')) throw new SyntaxError('The last line has no end');
  let family = '';
  let help = '';
  for (const line of text.split('\n').slice(0, -1)) {
    const comment = new RegExp(`^# (HELP|TYPE) (${NAME}) (.*)$`).exec(line);
    if (comment?.[1] === 'HELP') {
      help = comment[3] ?? '';
    } else if (comment) {
      family = comment[2] ?? '';
      if (families.has(family)) throw new SyntaxError(`Family ${family} comes twice`);
      families.set(family, { help, type: comment[3] ?? '' });
    } else {
      const match = SAMPLE.exec(line);
      const [name = '', inner = '', number = ''] = [match?.[1], match?.[2], match?.at(-1)];
      if (!match || !VALUE.test(number)) throw new SyntaxError(`This is no sample: ${JSON.stringify(line)}`);
      if (name !== family) throw new SyntaxError(`${name} stands among the samples of ${family}`);
      const labels = parseLabels(inner);
      const series = JSON.stringify([name, Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1))]);
      if (known.has(series)) throw new SyntaxError(`Series ${series} comes twice`);
      known.add(series);
      samples.push({ name, labels, value: Number(number.replace('Inf', 'Infinity')) });
    }
  }
  return {
    families,
    samples,
    values: (name, label) =>
      Object.fromEntries(
        samples.filter((sample) => sample.name === name).map(({ labels, value }) => [labels[label] ?? '', value]),
      ),
  };
}

function parseLabels(inner: string): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const [, label = '', value = ''] of inner.matchAll(new RegExp(PAIR, 'g'))) {
    if (label in labels) throw new SyntaxError(`Label ${label} comes twice`);
    labels[label] = value.replaceAll(/\\(.)/g, (_escape, char: string) => (char === 'n' ? '\n' : char));
  }
  return labels;
}
