import { z } from 'zod';
import { parseJson } from '../../base/index.ts';
import { VALUE_CHARS_MAX } from '../../model/index.ts';
import { deviceSchema } from '../../web/index.ts';
import type { LastFacts } from './device-facts.ts';
import { listShownLogs } from './log-states.ts';
import type { LogState, Moment, RouterState } from './router-state.ts';

const time = z.number().nonnegative();
const storedFacts = z.object({ readAtMs: time, device: deviceSchema });
const storedSlots = z.object({ newestMs: time, slots: z.string() });
/** Counts, and times whose sums are dates. */
const number = z.number().min(-4e15).max(4e15);
const storedLog = z
  .object({ labels: z.object({ component: z.string() }), lines: number, bytes: number, unparsed: number, gaps: number })
  .extend({ position: z.object({ file: z.string(), offset: number }).optional() })
  .extend({ unshipped: z.object({ state: z.string(), message: z.string() }).optional() })
  .catchall(number);
const storedSchema = z.object({
  history: storedSlots.extend({ modems: z.record(z.string(), storedSlots).optional().catch(undefined) }),
  facts: storedFacts.optional().catch(undefined),
  /** When it was stored. */
  at: z.object({ ms: number, wallMs: number }).catch({ ms: 0, wallMs: 0 }),
  logs: z.array(z.custom<LogState>((log) => storedLog.safeParse(log).success)).catch([]),
});

/**
 * Returns the history of a router with its last facts and its logs as text; `undefined` before its first poll. History and facts have at
 * most 16,000 characters; logs that do not fit into a value beside them are left out.
 */
export function renderStoredHistory(state: RouterState, at: Moment): string | undefined {
  const history = state.history.pack(at);
  const stored = { history, facts: findFacts(state) };
  const text = JSON.stringify({ ...stored, at, logs: listShownLogs(state) });
  return history && (text.length > VALUE_CHARS_MAX ? JSON.stringify(stored) : text);
}

function findFacts({ recalled, lastSuccessMs: readAtMs, device }: RouterState): LastFacts | undefined {
  if (recalled || readAtMs === undefined) return recalled;
  return { readAtMs, device: device.summary };
}

/** Returns `undefined` for text that {@link renderStoredHistory} did not write. */
export function parseStoredHistory(text: string): z.output<typeof storedSchema> | undefined {
  return storedSchema.safeParse(parseJson(text)).data;
}
