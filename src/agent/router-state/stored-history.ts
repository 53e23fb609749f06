import { z } from 'zod';
import { parseJson } from '../../base/index.ts';
import { deviceSchema } from '../../web/index.ts';
import type { LastFacts } from './device-facts.ts';
import type { Moment, RouterState } from './router-state.ts';

const time = z.number().nonnegative();
const storedFacts = z.object({ readAtMs: time, device: deviceSchema });
const storedSlots = z.object({ newestMs: time, slots: z.string() });
const storedSchema = z.object({
  history: storedSlots.extend({ modems: z.record(z.string(), storedSlots).optional().catch(undefined) }),
  facts: storedFacts.optional().catch(undefined),
});

/** Returns the history of a router with its last facts as text, at most 16,000 characters; `undefined` before its first poll. */
export function renderStoredHistory(state: RouterState, at: Moment): string | undefined {
  const history = state.history.pack(at);
  return history && JSON.stringify({ history, facts: findFacts(state) });
}

function findFacts({ recalled, lastSuccessMs: readAtMs, device }: RouterState): LastFacts | undefined {
  if (recalled || readAtMs === undefined) return recalled;
  return { readAtMs, device: device.summary };
}

/** Returns `undefined` for text that {@link renderStoredHistory} did not write. */
export function parseStoredHistory(text: string): z.output<typeof storedSchema> | undefined {
  return storedSchema.safeParse(parseJson(text)).data;
}
