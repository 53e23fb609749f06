import type { Clock, Random, Timer } from '../../base/index.ts';
import { type LogPhrase, logPhrases } from './phrases.ts';

/** Gaps are random; a longer one is cut to this, so that a short demo never looks dead. */
const GAP_MS_MAX = 2000;

/** Writes realistic lines on `clock`, all components together `linesPerSecond`, until the result is disposed of. */
export function startLogActivity(
  clock: Clock,
  random: Random,
  linesPerSecond: number,
  write: (phrase: LogPhrase) => void,
): Disposable {
  let timer: Timer;
  const scheduleNext = () => {
    const meanMs = 1000 / linesPerSecond;
    const gapMs = Math.min(Math.max(GAP_MS_MAX, 3 * meanMs), -Math.log(1 - random()) * meanMs);
    timer = clock.setTimer(gapMs, () => {
      write(choosePhrase(random));
      scheduleNext();
    });
  };
  scheduleNext();
  return { [Symbol.dispose]: () => timer.cancel() };
}

const WEIGHT_SUM = logPhrases.reduce((sum, { weight }) => sum + weight, 0);

function choosePhrase(random: Random): LogPhrase {
  let rest = random() * WEIGHT_SUM;
  for (const phrase of logPhrases) {
    rest -= phrase.weight;
    if (rest < 0) return phrase;
  }
  return logPhrases[0];
}
