import { type EventQuery, type EventSummary, findSite, listKinds, sortEvents } from '../../web/index.ts';
import type { AgentEvents } from '../agent-events.ts';
import { type JournalEvent, toEventSummary } from '../router-state/router-journal.ts';
import type { RouterAgent } from '../routers/router-agent.ts';

/** Events older than this are not shown. Milliseconds. */
const KEEP_MS = 30 * 86_400_000;

/** Lists the newest matching events of the routers of this process and, without a router or a site, of the agent. */
export function listEvents(
  routers: readonly Pick<RouterAgent, 'settings' | 'recorder'>[],
  { events: ofAgent }: Pick<AgentEvents, 'events'>,
  query: EventQuery,
  nowMs: number,
): readonly EventSummary[] {
  const { since = 0, router, site, max } = query;
  const kinds = listKinds(query);
  let fromMs = Math.max(new Date(since).getTime(), nowMs - KEEP_MS);
  let found: (readonly [event: JournalEvent, of: RouterAgent['settings']])[] = [];
  // Ten thousand routers have a hundred thousand events: most are older than enough others, and are not sorted.
  const cutToNewest = () => {
    found = found.toSorted(([a], [b]) => b.at - a.at).slice(0, max);
    if (found.length === max) fromMs = Math.max(fromMs, found.at(-1)?.[0].at ?? 0);
  };
  for (const { settings, recorder } of routers) {
    if ((router ?? settings.name) !== settings.name) continue;
    const { journal, device } = recorder.state;
    if (site !== undefined && findSite({ labels: settings.labels, device: device.summary }) !== site) continue;
    for (const event of journal.events) {
      if (event.at >= fromMs && kinds.has(event.kind)) found.push([event, settings]);
    }
    if (found.length > 2 * max) cutToNewest();
  }
  cutToNewest();
  const own = ofAgent.filter(({ at, kind }) => kinds.has(kind) && Date.parse(at) >= fromMs);
  const isWhole = router === undefined && site === undefined;
  return sortEvents([...found.map((one) => toEventSummary(...one)), ...(isWhole ? own : [])], max);
}
