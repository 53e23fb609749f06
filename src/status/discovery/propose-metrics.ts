import type { MetricType } from '../../model/index.ts';
import type { SeenField } from './explore-documents.ts';
import type { FieldGuess, Guess } from './guess-field.ts';
import { isCounterName, toFieldWords, toSnakeCase } from './metric-names.ts';
import type { ProposedMetric } from './proposal.ts';

/** A metric without a name. */
export interface NamelessMetric {
  readonly type: MetricType;
  /** The field's part of the name, in snake case. */
  readonly words: string;
  /** Unit or meaning of 1 in the name; may be empty. */
  readonly suffix: string;
  /** Meaning of the number, appended to the help; empty if it is the field as it is. */
  readonly meaning: string;
  /** The keys of the metric that describe how it is read. */
  readonly keys: Omit<ProposedMetric, 'name' | 'help' | 'type'> & { readonly value: string };
}

/** Proposes metrics for a field that is more than a text: one, or one for each number in its texts. */
export function proposeMetrics(field: SeenField, { guesses, nullValues }: FieldGuess): readonly NamelessMetric[] {
  return guesses.flatMap((guess) =>
    toMetrics(field, guess).map((metric) => {
      const isRead = guess.kind !== 'flag' && guess.kind !== 'states' && nullValues.length > 0;
      const keys = isRead ? { ...metric.keys, null_values: [...new Set(['', '---', ...nullValues])] } : metric.keys;
      return { ...metric, keys };
    }),
  );
}

function toMetrics({ name, texts }: SeenField, guess: Guess): readonly NamelessMetric[] {
  const gauge = { type: 'gauge', words: toFieldWords(name, 'gauge'), suffix: '', meaning: '' } as const;
  const keys = { value: name };
  switch (guess.kind) {
    case 'label':
      return [];
    case 'number': {
      const isCounter = isCounterName(name) && texts.every((text) => /^(?:\d+|\D+)$/.test(text));
      const type = isCounter ? 'counter' : 'gauge';
      return [{ ...gauge, type, words: toFieldWords(name, type), keys }];
    }
    case 'percentage':
      return [{ ...gauge, suffix: 'ratio', meaning: 'as a ratio', keys: { ...keys, form: guess.kind } }];
    case 'duration':
      return [{ ...gauge, suffix: 'seconds', meaning: 'in seconds', keys: { ...keys, form: guess.kind } }];
    case 'date':
      return [
        { ...gauge, suffix: 'timestamp_seconds', meaning: 'as Unix seconds', keys: { ...keys, form: guess.kind } },
      ];
    case 'unit': {
      const suffix = toSnakeCase(guess.suffix);
      return [{ ...gauge, suffix, meaning: `in ${guess.unit}`, keys: { ...keys, unit: guess.unit } }];
    }
    case 'list':
      return Array.from({ length: guess.parts }, (_none, index) => ({
        ...gauge,
        words: `${gauge.words}_${index + 1}`,
        meaning: `number ${index + 1}`,
        keys: { ...keys, form: 'list', part: index + 1 },
      }));
    case 'fraction':
      return [1, 2].map((part) => ({
        ...gauge,
        words: `${gauge.words}_${part}`,
        suffix: toSnakeCase(guess.suffix),
        meaning: `number ${part}`,
        keys: { ...keys, form: 'fraction', part, ...(guess.unit !== undefined && { unit: guess.unit }) },
      }));
    case 'flag': {
      const [one = ''] = Object.entries(guess.map).find(([, number]) => number === 1) ?? [];
      return [{ ...gauge, suffix: guess.suffix, meaning: `1 is ${one}`, keys: { ...keys, map: guess.map } }];
    }
    case 'states':
      return [
        {
          ...gauge,
          type: 'stateset',
          meaning: '1 for the state that applies',
          keys: { ...keys, states: guess.states },
        },
      ];
  }
}
