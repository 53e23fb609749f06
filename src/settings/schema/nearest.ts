import { closestMatch } from 'leven';

/** A third of the letters may be wrong: beyond that the guess is more often wrong than right. */
const LETTERS_PER_MISTAKE = 3;
const MISTAKES_MAX = 4;
/** The work grows with the product of both lengths. */
const WORD_CHARS_MAX = 64;

/** Finds the candidate of which `word` is probably a misspelling, ignoring case; `undefined` if none is near. */
export function findNearest(word: string, candidates: readonly string[]): string | undefined {
  if (word.length > WORD_CHARS_MAX) return undefined;
  const byLowerCase = new Map(candidates.map((candidate) => [candidate.toLowerCase(), candidate]));
  const lowerCase = word.toLowerCase();
  // Two letters in the wrong order count as two mistakes, and are the commonest one.
  const swapped = [...byLowerCase.keys()].find((candidate) => sortLetters(candidate) === sortLetters(lowerCase));
  const maxDistance = Math.min(MISTAKES_MAX, Math.max(1, Math.floor(word.length / LETTERS_PER_MISTAKE)));
  const match = swapped ?? closestMatch(lowerCase, [...byLowerCase.keys()], { maxDistance });
  return match === undefined ? undefined : byLowerCase.get(match);
}

function sortLetters(word: string): string {
  return word.split('').toSorted().join('');
}
