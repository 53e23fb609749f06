import type { z } from 'zod';
import { parseDuration, renderDuration } from '../base/index.ts';
import { duration, flag, globs, parsed, type Settled, section } from '../settings/index.ts';

/** Part of a log that is read on first contact: all of it, only later lines, or lines of a time before. */
export type LogStart = 'all' | 'now' | { readonly backMs: number };

/** Bounds of that time: the error of a clock, and more years than most routers keep. Milliseconds. */
const START_BACK_MS_MIN = 1000;
const START_BACK_MS_MAX = 10 * 365 * 86_400_000;
const START = `"all", "now", or a duration with its unit from ${renderDuration(START_BACK_MS_MIN)} to ${renderDuration(START_BACK_MS_MAX)}, such as 12h or 30d`;

function parseStart(value: string): LogStart | undefined {
  if (value === 'all' || value === 'now') return value;
  const backMs = parseDuration(value);
  const isSound = backMs !== undefined && backMs >= START_BACK_MS_MIN && backMs <= START_BACK_MS_MAX;
  return isSound ? { backMs } : undefined;
}

function renderStart(start: LogStart): string {
  return typeof start === 'string' ? start : renderDuration(start.backMs);
}

/** Schema of the section `logs` of a router. */
export const logsSchema = section('How the logs of the router are read. Without a sink, logs are not read.', {
  enabled: flag({ description: 'Set to `false` to read no logs.' }).prefault(true),
  // Half the poll interval: a log line is wanted sooner than a number.
  interval: duration({ description: 'Interval between reads.' }).prefault('30s'),
  start: parsed(
    {
      description:
        'Start of reading on first contact with a log: `all` lines that the router still has, only lines from `now` on, or a duration back from now, such as `30d`.',
      kind: '`all`, `now`, duration',
    },
    START,
    parseStart,
    renderStart,
  ).prefault('all'),
  components: globs('Globs of the components to read; a leading `!` excludes.').prefault(['*']),
});

/** Reading of the logs of a router. Milliseconds. Of the globs of components at least one includes. */
export type LogSettings = Settled<z.output<typeof logsSchema>>;
