import { z } from 'zod';
import { isSelected } from '../../base/index.ts';
import { LOG_EVENTS, ROUTER_EVENTS } from '../../model/index.ts';
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
  /** As `findSite` returns it. */
  readonly site?: string | undefined;
  /** Glob, as in `router.*`. */
  readonly kind?: string | undefined;
  readonly max: number;
}

/** Events in one answer. */
export const EVENTS_MAX = 1000;
const VALUE_CHARS_MAX = 200;
const AGENT_EVENTS = ['agent.start', 'agent.reload'];

/** Parses a query; `undefined` if `since` is no time. */
export function parseEventQuery(query: (name: string) => string | undefined): EventQuery | undefined {
  const [since, router, site, kind] = ['since', 'router', 'site', 'kind'].map(
    (name) => query(name)?.slice(0, VALUE_CHARS_MAX) || undefined,
  );
  if (since !== undefined && Number.isNaN(Date.parse(since))) return undefined;
  const limit = Number(query('limit'));
  return { since, router, site, kind, max: limit >= 1 ? Math.min(Math.floor(limit), EVENTS_MAX) : EVENTS_MAX };
}

/** Returns the kinds that a query selects. */
export function listKinds({ kind = '*' }: EventQuery): ReadonlySet<string> {
  return new Set([...ROUTER_EVENTS, ...LOG_EVENTS, ...AGENT_EVENTS].filter((one) => isSelected(one, [kind])));
}

/** Puts events in the order of answers, the newest first, and cuts them. */
export function sortEvents(events: readonly EventSummary[], max: number): readonly EventSummary[] {
  return events.toSorted((a, b) => Number(a.at < b.at) - Number(a.at > b.at)).slice(0, max);
}
