import { createSeededRandom, hashToUnit, type Random } from '../base/index.ts';

/** Returns a random sequence for one purpose, independent of the numbers drawn for other purposes. */
export function deriveRandom(seed: number, purpose: string): Random {
  return createSeededRandom(Math.floor(hashToUnit(`${seed}/${purpose}`) * 2 ** 32));
}

/** Returns a whole number from `min` to `max`, both included. */
export function randomInteger(random: Random, min: number, max: number): number {
  return min + Math.floor(random() * (max - min + 1));
}

/** Returns one of `choices`. */
export function randomChoice<T>(random: Random, choices: readonly [T, ...T[]]): T {
  return choices[Math.floor(random() * choices.length)] ?? choices[0];
}

/** Returns `digits` lower-case hexadecimal digits. */
export function randomHex(random: Random, digits: number): string {
  let text = '';
  while (text.length < digits) text += randomInteger(random, 0, 15).toString(16);
  return text;
}
