import { answerText } from '../cached-answer.ts';
import { ConcurrencyLimit } from '../concurrency-limit.ts';
import type { PeerFault } from '../fan-out.ts';
import { withoutCredentials } from '../fleet-list.ts';
import { toBase } from '../paths.ts';
import { parseRecordQuery, toFleetQuery } from '../record-query.ts';
import { answerForOther, findProcess, nameProcess, redirectTo } from '../shards.ts';
import type { Handler, WebContext, WebDependencies } from '../web-dependencies.ts';
import { collectFleet, collectLetters, collectLogs, collectProcesses, collectRecords } from '../whole-fleet.ts';
import { renderConfig } from './config-page.ts';
import { parseFacets } from './facets.ts';
import { renderFleet } from './fleet-page.ts';
import { FLEET_SORTS, viewFleet } from './fleet-view.ts';
import { html } from './html.ts';
import { PAGE_HEADERS, type Page, renderPage, toHref } from './layout.ts';
import {
  LETTERS_MAX,
  parseLetterQuery,
  renderLetter,
  renderLetters,
  renderUnread,
  SHARED_LETTERS_MAX,
} from './letters-page.ts';
import { LOG_SORTS, renderLines, renderLogs } from './logs-page.ts';
import { renderAlone, renderMissing } from './processes.ts';
import { renderRouter } from './router-page.ts';
import { renderSinks } from './sinks-page.ts';
import { parseTableQuery } from './table-query.ts';
import { FILTERS } from './words.ts';

/** Maximum concurrent pages of the configuration: each takes tens of milliseconds of the main thread. */
const CONFIGS_MAX = 2;

const NO_RECORDS = { records: [], next: null, searchedTo: null, fault: null };

/** Creates the handlers of the HTML pages, by path. All content comes from memory. */
export function createPageRoutes(dependencies: WebDependencies): Readonly<Record<string, Handler>> {
  const { clock } = dependencies;
  const configs = new ConcurrencyLimit(CONFIGS_MAX);
  const [top, below] = [toBase(dependencies, ''), toBase(dependencies, '../')];
  const renderNotices = (faults: readonly PeerFault[], what: string, missing: string) =>
    html`${renderAlone(dependencies.content.describeShards(), what)}${renderMissing(faults, missing)}`;
  return {
    '/': async (context) => {
      const { content } = dependencies;
      // The short answers first: they share a connection.
      const [counts, whole] = await Promise.all([collectProcesses(dependencies), collectFleet(dependencies)]);
      const facets = parseFacets((name) => context.req.queries(name));
      const query = { ...readQuery(context, FLEET_SORTS, Object.keys(FILTERS)), facets };
      const shards = content.describeShards();
      const faults = new Map([...counts.faults, ...whole.faults].map((fault) => [fault.shard, fault]));
      const fleet = {
        view: await viewFleet(whole, query),
        faults: [...faults.values()],
        cluster: shards?.cluster,
        processes: counts.values,
        alone: renderAlone(shards, 'Routers'),
        grafana: content.findGrafana(),
        availabilityOf: ({ name }: { readonly name: string }) => whole.describeAvailability(name),
      };
      const main = await renderFleet(fleet, query, top, clock.now());
      return answerPage(context, { title: 'Fleet', path: '', base: top, main });
    },
    '/router/:name': async (context) => {
      const name = context.req.param('name') ?? '';
      const router = dependencies.content.describeRouter(name);
      if (!router) {
        return answerForOther(dependencies.content, context, name, `/router/${name}`) ?? answerNoRouter(context, below);
      }
      const config = dependencies.content.renderRouterConfig(name) ?? '';
      const grafana = dependencies.content.findGrafana();
      const query = { ...parseRecordQuery(context), router: name };
      const isPositions = context.req.query('view') === 'positions';
      const page = isPositions ? NO_RECORDS : await dependencies.content.readRecords(query);
      const logs = { isPositions, page, query, grafana };
      const view = { config, grafana, logs, canPoll: dependencies.isLifecycleEnabled };
      const main = renderRouter(withoutCredentials(router), view, below, clock.now());
      return answerPage(context, { title: router.name, path: undefined, base: below, main });
    },
    '/logs': async (context) => {
      const { content } = dependencies;
      const query = parseRecordQuery(context);
      if (query.router !== undefined) {
        return context.redirect(`router/${encodeURIComponent(query.router)}${new URL(context.req.url).search}#logs`);
      }
      const { page, faults } = await collectRecords(dependencies, query.limit);
      const shards = content.describeShards();
      const notices = renderNotices(faults, 'Lines of the routers', 'lines');
      const follows = shards && nameProcess(shards, shards.index);
      const view = { page, query: toFleetQuery(query.limit), base: top, follows, grafana: content.findGrafana() };
      const main = renderLines(view, notices);
      return answerPage(context, { title: 'Logs', path: 'logs', base: top, main });
    },
    '/logs/positions': async (context) => {
      const { values, faults } = await collectLogs(dependencies);
      const notices = renderNotices(faults, 'Logs of the routers', 'logs');
      const main = await renderLogs(values, notices, readQuery(context, LOG_SORTS), below, clock.now());
      return answerPage(context, { title: 'Logs', path: 'logs', base: below, main });
    },
    '/sinks': async (context) => {
      const { values, faults } = await collectProcesses(dependencies);
      const main = renderSinks(values, renderNotices(faults, 'Deliveries', 'deliveries'), top, clock.now());
      return answerPage(context, { title: 'Sinks', path: 'sinks', base: top, main });
    },
    '/dead-letters': async (context) => {
      const { content } = dependencies;
      const asked = parseLetterQuery((name) => context.req.query(name));
      const shards = content.describeShards();
      const process = findProcess(shards, asked.process ?? '');
      if (shards && process !== undefined && process !== shards.index) {
        return redirectTo(shards, process, context, '/dead-letters', 'has these dead letters');
      }
      // A number of a process that has gone says nothing about those of others.
      const isGone = asked.process !== undefined && process === undefined;
      const query = isGone ? { ...asked, process: undefined, before: undefined } : asked;
      const own = await content.listLetters({ sink: query.sink, before: query.before, limit: LETTERS_MAX });
      const isWhole = (shards?.peers.length ?? 0) > 0 && query.process === undefined && query.before === undefined;
      const others = isWhole ? await collectLetters(dependencies, query.sink, SHARED_LETTERS_MAX) : undefined;
      const notices = renderNotices(others?.faults ?? [], 'Dead letters', 'dead letters');
      const name = shards && nameProcess(shards, shards.index);
      const main = renderLetters({ own, name, others: others?.values }, notices, query, top, clock.now());
      return answerPage(context, { title: 'Dead letters', path: undefined, base: top, main });
    },
    '/dead-letters/:id': async (context) => {
      const { content } = dependencies;
      const shards = content.describeShards();
      const { process } = parseLetterQuery((name) => context.req.query(name));
      const shard = process === undefined ? (shards?.index ?? 0) : findProcess(shards, process);
      const id = Number(context.req.param('id'));
      if (shard === undefined || !Number.isSafeInteger(id)) return answerNoLetter(context, below);
      if (shards && shard !== shards.index)
        return redirectTo(shards, shard, context, `/dead-letters/${id}`, 'has this dead letter');
      const letter = await content.findLetter(id);
      if (!letter) return answerNoLetter(context, below);
      if ('fault' in letter) return answerUnreadLetter(context, letter.fault, below);
      const main = renderLetter(letter, shards && nameProcess(shards, shard), below, clock.now());
      return answerPage(context, { title: `Dead letter ${id}`, path: undefined, base: below, main });
    },
    '/config': async (context) => {
      const render = () => renderConfig(dependencies.content, top, clock.now());
      const main = await configs.run('requests for the configuration', render);
      return answerPage(context, { title: 'Configuration', path: 'config', base: top, main });
    },
  };
}

function readQuery(context: WebContext, columns: readonly string[], filters?: readonly string[]) {
  return parseTableQuery((name) => context.req.query(name), columns, filters);
}

async function answerPage(context: WebContext, page: Page): Promise<Response> {
  for (const [name, value] of Object.entries(PAGE_HEADERS)) context.header(name, value);
  return answerText(context, 'text/html; charset=utf-8', String(await renderPage(page)));
}

function answerNoRouter(context: WebContext, base: string): Promise<Response> {
  context.status(404);
  const main = html`<h1>No such router</h1>
<p>No router of this name is configured. <a href="${toHref(base, '')}">Search the fleet</a>.</p>`;
  return answerPage(context, { title: 'No such router', path: undefined, base, main });
}

function answerUnreadLetter(context: WebContext, fault: string, base: string): Promise<Response> {
  context.status(503);
  return answerPage(context, { title: 'Dead letter', path: undefined, base, main: renderUnread(fault, base) });
}

function answerNoLetter(context: WebContext, base: string): Promise<Response> {
  context.status(404);
  const main = html`<h1>No such dead letter</h1>
<p>It was dropped, or a sink has accepted it since. <a href="${base}dead-letters">All dead letters</a>.</p>`;
  return answerPage(context, { title: 'No such dead letter', path: undefined, base, main });
}
