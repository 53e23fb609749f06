import type { RecordPage } from './api/logs.ts';
import type { WebContent } from './content.ts';
import type { PeerFault } from './fan-out.ts';
import { answerList } from './fleet-list.ts';
import { type FollowLines, LiveTail } from './live-tail.ts';
import { renderLine } from './pages/log-lines.ts';
import { toBase } from './paths.ts';
import { isSelective, parseRecordQuery, toFleetQuery } from './record-query.ts';
import { answerForOther, isOwnAlone, toUnanswered } from './shards.ts';
import type { Handler, WebContext, WebDependencies } from './web-dependencies.ts';
import { collectRecords } from './whole-fleet.ts';

/** Records shown with a router, and how much of each. */
const SHOWN_RECORDS = 20;
const SHOWN_CHARS = 240;

const OF_ONE_ROUTER =
  'component, severity, q and before select lines of one router: ask for /api/v1/routers/NAME/records';

/** Creates the handlers of the last lines of the fleet, with `own=1` of this process alone, and of one router. */
export function createRecordHandlers(dependencies: WebDependencies): {
  readonly all: Handler;
  readonly router: Handler;
} {
  const { content } = dependencies;
  const answer = (context: WebContext, { records, ...more }: RecordPage, faults: readonly PeerFault[] = []) =>
    answerList(context, 'records', records, { ...more, ...toUnanswered(faults) });
  return {
    all: async (context) => {
      const query = parseRecordQuery(context);
      if (query.router !== undefined) {
        return context.redirect(
          `routers/${encodeURIComponent(query.router)}/records${new URL(context.req.url).search}`,
        );
      }
      if (isSelective(query)) return context.json({ error: OF_ONE_ROUTER }, 400);
      const { limit } = query;
      if (isOwnAlone(context)) return answer(context, await content.readRecords(toFleetQuery(limit)));
      const { page, faults } = await collectRecords(dependencies, limit);
      return answer(context, page, faults);
    },
    router: async (context) => {
      const router = context.req.param('name') ?? '';
      if (content.hasRouter(router)) {
        return answer(context, await content.readRecords({ ...parseRecordQuery(context), router }));
      }
      const path = `/api/v1/routers/${router}/records`;
      const elsewhere = answerForOther(content, context, router, path);
      return elsewhere ?? context.json({ error: 'No router of this name is configured' }, 404);
    },
  };
}

/** Creates the handler of the streams of new lines of this process, or of one router: pieces of a page for pages, JSON for others. */
export function createStreamHandler(dependencies: WebDependencies): Handler {
  const { content, clock } = dependencies;
  const tail = new LiveTail(clock);
  const base = toBase(dependencies, '');
  return (context) => {
    const router = context.req.param('name');
    if (router !== undefined && !content.hasRouter(router)) return context.text('No such router.\n', 404);
    const query = { ...parseRecordQuery(context), ...(router !== undefined && { router }) };
    const follow: FollowLines = (listener) => content.followRecords(query, listener);
    if (context.req.path.endsWith('/api/v1/records/stream')) return tail.answer(context, follow, JSON.stringify);
    return tail.answer(context, follow, (line) => {
      const piece = renderLine(line, undefined, { router, base });
      // A piece without parts that take time is there at once.
      return piece instanceof Promise ? '' : piece.toString();
    });
  };
}

/** Reads the last records that are shown with a router. */
export async function readShownRecords(content: WebContent, router: string) {
  const { records } = await content.readRecords({ ...toFleetQuery(SHOWN_RECORDS), router });
  return records.map(({ timestamp, component, severity, message }) => {
    return { timestamp, component, severity, message: message.slice(0, SHOWN_CHARS).toWellFormed() };
  });
}
