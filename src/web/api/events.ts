import { z } from 'zod';
import { isSelected } from '../../base/index.ts';
import { moment, text } from './routers.ts';

/** What happened to a router, its logs or the agent. An entry of `GET /api/v1/events`. */
export type EventSummary = z.output<typeof eventSchema>;
export const eventSchema = z.object({
  /** When the agent noticed it. */
  at: moment,
  /** Such as `router.down`, `log.gap` or `agent.reload`. */
  kind: text,
  /** Null for events of the agent. */
  router: text.nullable(),
  /** Labels of the router from the configuration. */
  labels: z.record(text, text).readonly(),
  /** As in the record of the event. */
  uid: text,
  message: text,
  details: z.record(text, z.union([text, z.number(), z.null()])).readonly(),
});

/** Selects events; absent conditions select all. */
export interface EventQuery {
  /** Only those noticed then or later: RFC 3339. */
  readonly since?: string | undefined;
  readonly router?: string | undefined;
  /** Value of the label `site`. */
  readonly site?: string | undefined;
  /** Glob, as in `router.*`. */
  readonly kind?: string | undefined;
  readonly max: number;
}

/** Events in one answer. */
export const EVENTS_MAX = 1000;
const VALUE_CHARS_MAX = 200;

/** Parses a query; `undefined` if `since` is no time. */
export function parseEventQuery(query: (name: string) => string | undefined): EventQuery | undefined {
  const read = (name: string) => query(name)?.slice(0, VALUE_CHARS_MAX) || undefined;
  const since = read('since');
  const sinceMs = since === undefined ? 0 : Date.parse(since);
  if (Number.isNaN(sinceMs)) return undefined;
  const from = since === undefined ? {} : { since: new Date(sinceMs).toISOString() };
  return { ...from, router: read('router'), site: read('site'), kind: read('kind'), max: EVENTS_MAX };
}

/** Returns a function that selects events by kind. There are few kinds, and many events. */
export function createKindMatcher({ kind }: EventQuery): (kind: string) => boolean {
  const known = new Map<string, boolean>();
  return (one) => {
    const answer = known.get(one) ?? (kind === undefined || isSelected(one, [kind]));
    known.set(one, answer);
    return answer;
  };
}

/** Puts events in the order of answers, the newest first, and cuts them. */
export function sortEvents(events: readonly EventSummary[], max: number): readonly EventSummary[] {
  return events.toSorted((a, b) => Number(a.at < b.at) - Number(a.at > b.at)).slice(0, max);
}
