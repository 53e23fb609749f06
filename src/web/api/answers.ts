import type { PeerFault } from '../fan-out.ts';
import type { DeadLettersContent } from '../pages/dead-letters-page.ts';
import { DEAD_LETTERS_MAX, DEAD_LETTERS_PER_PEER_MAX, parseDeadLetterQuery } from '../pages/dead-letters-page.ts';
import type { RouterPageContent } from '../pages/router-page.ts';
import { compareRanks, sortPage } from '../pages/table-query.ts';
import { answerJson, answerList } from '../server/answers.ts';
import { type Handler, isOwnAlone, type WebContext, type WebDependencies } from '../server/context.ts';
import {
  answerForOther,
  collectEvents,
  collectFleet,
  collectLogs,
  collectRecords,
  type FleetContent,
  withoutCredentials,
} from '../whole-fleet.ts';
import { parseEventQuery } from './events.ts';
import { isSelective, parseRecordQuery, type RecordPage, toFleetQuery } from './logs.ts';
import type { ListedRouter } from './routers.ts';

/** Records shown with a router, and characters of each. */
const SHOWN_RECORDS = 20;
const SHOWN_CHARS = 240;

const NO_ROUTER = { error: 'No router of this name is configured' };
const OF_ONE_ROUTER =
  'component, severity, q and before select lines of one router: ask for /api/v1/routers/NAME/records';

type ApiContent = FleetContent & DeadLettersContent & Pick<RouterPageContent, 'describeRouter'>;
type ApiDependencies = WebDependencies<ApiContent>;

/** Creates the handlers of the JSON documents, by path. With `own=1` they describe this process alone. */
export function createApiHandlers(dependencies: ApiDependencies): Readonly<Record<string, Handler>> {
  const { content } = dependencies;
  return {
    '/api/v1/routers': (context) => answerRouters(dependencies, context),
    '/api/v1/routers/:name': (context) => answerRouter(content, context),
    '/api/v1/routers/:name/records': (context) => answerRecordsOfRouter(content, context),
    '/api/v1/records': (context) => answerRecords(dependencies, context),
    '/api/v1/logs': (context) => answerLogs(dependencies, context),
    '/api/v1/events': (context) => answerEvents(dependencies, context),
    '/api/v1/dead-letters': (context) => answerLetters(content, context),
    '/api/v1/dead-letters/:id': (context) => answerLetter(content, context),
    '/api/v1/process': async (context) => answerJson(context, await content.describeProcess()),
    '/api/v1/runs': async (context) => answerJson(context, (await content.describeProcess()).runs),
    '/api/v1/sinks': async (context) => {
      const { sinks, spool } = await content.describeProcess();
      return answerJson(context, { sinks, spool });
    },
  };
}

/** Sorted by name, so that the answer changes only when its content does. */
async function answerRouters(dependencies: ApiDependencies, context: WebContext): Promise<Response> {
  const fleet = isOwnAlone(context) ? { ...dependencies.content, faults: [] } : await collectFleet(dependencies);
  const names = await sortPage(fleet.listNames(), compareRanks, 0, Infinity);
  // One by one: together they take longer than a step may.
  const listed = function* (): Generator<ListedRouter> {
    for (const name of names) {
      const router = fleet.findRouter(name);
      if (router) yield withoutCredentials(router);
    }
  };
  return answerList(context, 'routers', listed(), toUnanswered(fleet.faults));
}

async function answerRouter(content: ApiContent, context: WebContext): Promise<Response> {
  const name = context.req.param('name') ?? '';
  const router = content.describeRouter(name);
  if (!router) {
    return answerForOther(content, context, name, `/api/v1/routers/${name}`) ?? context.json(NO_ROUTER, 404);
  }
  const { records } = await content.readRecords({ ...toFleetQuery(SHOWN_RECORDS), router: name });
  const recentRecords = records.map(({ timestamp, component, severity, message }) => {
    return { timestamp, component, severity, message: message.slice(0, SHOWN_CHARS).toWellFormed() };
  });
  return answerJson(context, { ...withoutCredentials(router), recentRecords });
}

async function answerRecordsOfRouter(content: ApiContent, context: WebContext): Promise<Response> {
  const router = context.req.param('name') ?? '';
  if (content.hasRouter(router)) {
    return answerPage(context, await content.readRecords({ ...parseRecordQuery(context), router }));
  }
  return answerForOther(content, context, router, `/api/v1/routers/${router}/records`) ?? context.json(NO_ROUTER, 404);
}

async function answerRecords(dependencies: ApiDependencies, context: WebContext): Promise<Response> {
  const query = parseRecordQuery(context);
  if (query.router !== undefined) {
    return context.redirect(`routers/${encodeURIComponent(query.router)}/records${new URL(context.req.url).search}`);
  }
  if (isSelective(query)) return context.json({ error: OF_ONE_ROUTER }, 400);
  const { limit } = query;
  if (isOwnAlone(context)) return answerPage(context, await dependencies.content.readRecords(toFleetQuery(limit)));
  const { page, faults } = await collectRecords(dependencies, limit);
  return answerPage(context, page, faults);
}

function answerPage(
  context: WebContext,
  { records, ...more }: RecordPage,
  faults: readonly PeerFault[] = [],
): Promise<Response> {
  return answerList(context, 'records', records, { ...more, ...toUnanswered(faults) });
}

async function answerLogs(dependencies: ApiDependencies, context: WebContext): Promise<Response> {
  if (isOwnAlone(context)) return answerList(context, 'logs', dependencies.content.listLogs());
  const { values, faults } = await collectLogs(dependencies);
  return answerList(context, 'logs', values, toUnanswered(faults));
}

async function answerEvents(dependencies: ApiDependencies, context: WebContext): Promise<Response> {
  const query = parseEventQuery((name) => context.req.query(name));
  if (!query) return context.json({ error: 'since must be a time as in 2026-11-29T12:00:00Z' }, 400);
  if (isOwnAlone(context)) return answerList(context, 'events', dependencies.content.listEvents(query));
  const { events, faults } = await collectEvents(dependencies, query);
  return answerList(context, 'events', events, toUnanswered(faults));
}

async function answerLetters(content: ApiContent, context: WebContext): Promise<Response> {
  const { sink, before } = parseDeadLetterQuery(context);
  const limit =
    context.req.query('limit') === String(DEAD_LETTERS_PER_PEER_MAX) ? DEAD_LETTERS_PER_PEER_MAX : DEAD_LETTERS_MAX;
  const { letters, ...more } = await content.listDeadLetters({ sink, before, limit });
  return answerList(context, 'letters', letters, more);
}

async function answerLetter(content: ApiContent, context: WebContext): Promise<Response> {
  const id = Number(context.req.param('id'));
  const letter = Number.isSafeInteger(id) ? await content.findDeadLetter(id) : undefined;
  if (!letter) return context.json({ error: 'No dead letter has this number' }, 404);
  return 'fault' in letter ? context.json({ error: letter.fault }, 503) : answerJson(context, letter);
}

function toUnanswered(faults: readonly PeerFault[]): object {
  return faults.length > 0 ? { unanswered: faults } : {};
}
