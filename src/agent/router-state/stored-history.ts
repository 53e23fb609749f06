import { z } from 'zod';
import { parseJson } from '../../base/index.ts';
import { deviceSchema } from '../../web/index.ts';
import type { LastFacts } from './device-facts.ts';
import type { Moment, RouterState } from './router-state.ts';

const TEXT_CHARS_MAX = 128;
const time = z.number().nonnegative();
const storedSchema = z.object({
  history: z.object({ newestMs: time, slots: z.string() }),
  facts: z
    .object({
      readAtMs: time,
      device: deviceSchema,
      firmware: z.string().optional(),
      serial: z.string().optional(),
    })
    .optional()
    .catch(undefined),
});

/** Returns the history of a router with its last facts as text, at most 12,000 characters; `undefined` before its first poll. */
export function renderStoredHistory(state: RouterState, at: Moment): string | undefined {
  const history = state.history.pack(at);
  return history && JSON.stringify({ history, facts: findFacts(state) });
}

function findFacts({ recalled, lastSuccessMs: readAtMs, device, identity }: RouterState): LastFacts | undefined {
  if (recalled || readAtMs === undefined) return recalled;
  const [firmware, serial] = [identity.firmware, identity.serial].map((text) => text?.slice(0, TEXT_CHARS_MAX));
  return { readAtMs, device: device.summary, firmware, serial };
}

/** Returns `undefined` for text that {@link renderStoredHistory} did not write. */
export function parseStoredHistory(text: string): z.output<typeof storedSchema> | undefined {
  return storedSchema.safeParse(parseJson(text)).data;
}
