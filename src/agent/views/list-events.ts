import { createKindMatcher, type EventQuery, type EventSummary, sortEvents } from '../../web/index.ts';
import type { AgentEvents } from '../agent-events.ts';
import { type JournalEvent, toEventSummary } from '../router-state/router-journal.ts';
import type { Fleet } from '../routers/fleet.ts';

/** Lists the newest matching events of the routers of this process and, without a router or a site, of the agent. */
export function listEvents(
  fleet: Pick<Fleet, 'routers' | 'find'>,
  agent: Pick<AgentEvents, 'events'>,
  query: EventQuery,
): readonly EventSummary[] {
  const { since, router, site, max } = query;
  const isKind = createKindMatcher(query);
  let fromMs = since === undefined ? 0 : Date.parse(since);
  let found: (readonly [event: JournalEvent, of: Fleet['routers'][number]])[] = [];
  // Ten thousand routers have a hundred thousand events: those that are older than enough others are not sorted.
  const cutToNewest = () => {
    found = found.toSorted(([a], [b]) => b.at - a.at).slice(0, max);
    if (found.length === max) fromMs = Math.max(fromMs, found.at(-1)?.[0].at ?? 0);
  };
  const [one] = router === undefined ? [] : [fleet.find(router)];
  for (const agentOf of router === undefined ? fleet.routers : one ? [one] : []) {
    if (site !== undefined && agentOf.settings.labels['site'] !== site) continue;
    for (const event of agentOf.recorder.listEvents(fromMs)) if (isKind(event.kind)) found.push([event, agentOf]);
    if (found.length > 2 * max) cutToNewest();
  }
  cutToNewest();
  const isWhole = router === undefined && site === undefined;
  const own = isWhole ? agent.events.filter(({ at, kind }) => isKind(kind) && Date.parse(at) >= fromMs) : [];
  return sortEvents([...found.map(([event, { settings }]) => toEventSummary(event, settings)), ...own], max);
}
