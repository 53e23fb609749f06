import { Steps } from '../../base/index.ts';
import { type ClusterLink, KEYS_MAX, type StoredMessage } from './link.ts';
import type { Subjects } from './subjects.ts';

/** State of a router in the stream besides its records, as read from the stream's leader. */
export interface RouterState {
  /** Positions by component. */
  readonly positions: Map<string, string>;
  /** Values by key. */
  readonly values: Map<string, string>;
  facts: string | undefined;
  /** All messages, those of what was forgotten as well: they fence as the others do. */
  readonly messages: readonly StoredMessage[];
}

/** Reads positions, facts and values of a router from the leader. */
export async function readRouterState(
  link: Pick<ClusterLink, 'listSubjects' | 'readLast'>,
  subjects: Subjects,
  router: string,
): Promise<RouterState> {
  const { stream } = subjects;
  const lists = subjects
    .stateOf(router)
    .map(async (filter) => (filter.endsWith('*') ? await link.listSubjects(stream, filter, KEYS_MAX) : [filter]));
  const names = (await Promise.all(lists)).flat();
  const found = await Promise.all(names.map((subject) => link.readLast(stream, subject)));
  const messages = found.filter((message) => message !== undefined);
  const state: RouterState = { positions: new Map(), values: new Map(), facts: undefined, messages };
  for (const message of messages) {
    const topic = subjects.parse(message.subject);
    const text = message.payload.toString();
    // Forgotten ones are left as empty messages.
    if (!topic || text === '') continue;
    if (topic.kind === 'pos') state.positions.set(topic.component, text);
    else if (topic.kind === 'val') state.values.set(topic.key, text);
    else if (topic.kind === 'fact') state.facts = text;
  }
  return state;
}

/** Lists the routers that subjects name. */
export async function listRouters(
  link: Pick<ClusterLink, 'listSubjects'>,
  subjects: Subjects,
  filters: readonly string[],
): Promise<Set<string>> {
  const routers = new Set<string>();
  const steps = new Steps();
  for (const filter of filters) {
    for (const subject of await link.listSubjects(subjects.stream, filter)) {
      const topic = subjects.parse(subject);
      if (topic && topic.kind !== 'cur') routers.add(topic.router);
      if (steps.isDue) await steps.next();
    }
  }
  return routers;
}
