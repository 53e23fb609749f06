import { answerText } from '../cached-answer.ts';
import type { WebContent } from '../content.ts';
import { withoutCredentials } from '../fleet-list.ts';
import { parseRecordQuery } from '../record-query.ts';
import { answerForOther } from '../shards.ts';
import type { Handler, WebContext, WebDependencies } from '../web-dependencies.ts';
import { renderConfig } from './config-page.ts';
import { parseFacets } from './facets.ts';
import { type Delivery, renderFleet } from './fleet-page.ts';
import { FLEET_SORTS, viewFleet } from './fleet-view.ts';
import { html } from './html.ts';
import { PAGE_HEADERS, type Page, renderPage, toHref } from './layout.ts';
import { LETTERS_MAX, parseLetterQuery, renderLetter, renderLetters, renderUnread } from './letters-page.ts';
import { LOG_SORTS, renderLines, renderLogs, renderOtherProcesses } from './logs-page.ts';
import { renderRouter } from './router-page.ts';
import { renderRuns } from './runs.ts';
import { renderSinks } from './sinks-page.ts';
import { parseTableQuery } from './table-query.ts';
import { FILTERS } from './words.ts';

const NO_RECORDS = { records: [], next: null, searchedTo: null, fault: null };

/** Creates the handlers of the HTML pages, by path. All content comes from memory. */
export function createPageRoutes(dependencies: WebDependencies): Readonly<Record<string, Handler>> {
  const { externalUrl, clock } = dependencies;
  /** Without an external URL, links are relative to the folder of the page. */
  const toBase = (up: string) => externalUrl?.pathname.replace(/\/?$/, '/') ?? up;
  const [top, below] = [toBase(''), toBase('../')];
  const renderOthers = (what: string, path: string) =>
    renderOtherProcesses(dependencies.content.describeShards(), what, path);
  return {
    '/': async (context) => {
      const { content, peers } = dependencies;
      const whole = await peers.collect(content);
      const facets = parseFacets((name) => context.req.queries(name));
      const query = { ...readQuery(context, FLEET_SORTS, Object.keys(FILTERS)), facets };
      const fleet = {
        view: await viewFleet(whole, query),
        faults: whole.faults,
        cluster: content.describeShards()?.cluster,
        isShared: content.describeShards() !== undefined,
        minutes: content.listFleetMinutes(),
        delivery: describeDelivery(content),
        gaps: content.countGaps(),
        grafana: content.findGrafana(),
        availabilityOf: ({ name }: { readonly name: string }) => content.describeAvailability(name),
      };
      const main = await renderFleet(fleet, query, top, clock.now());
      const runs = renderRuns(content.describeRuns());
      return answerPage(context, { title: 'Fleet', path: '', base: top, main: html`${main}${runs}` });
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
      const logs = { isPositions, page, query };
      const view = { config, grafana, logs, canPoll: dependencies.isLifecycleEnabled };
      const main = renderRouter(withoutCredentials(router), view, below, clock.now());
      return answerPage(context, { title: router.name, path: undefined, base: below, main });
    },
    '/logs': async (context) => {
      const query = parseRecordQuery(context);
      const page = await dependencies.content.readRecords(query);
      const main = renderLines({ page, query, base: top }, renderOthers('Lines of the routers', 'logs'));
      return answerPage(context, { title: 'Logs', path: 'logs', base: top, main });
    },
    '/logs/positions': async (context) => {
      const logs = dependencies.content.listLogs();
      const main = await renderLogs(logs, readQuery(context, LOG_SORTS), below, clock.now());
      const others = renderOthers('Logs of the routers', 'logs/positions');
      return answerPage(context, { title: 'Logs', path: 'logs', base: below, main: html`${others}${main}` });
    },
    '/sinks': (context) => {
      const main = renderSinks(describeDelivery(dependencies.content), top, clock.now());
      const others = renderOthers('Deliveries', 'sinks');
      return answerPage(context, { title: 'Sinks', path: 'sinks', base: top, main: html`${others}${main}` });
    },
    '/dead-letters': (context) => {
      const query = parseLetterQuery((name) => context.req.query(name));
      const letters = dependencies.content.listLetters({ ...query, limit: LETTERS_MAX });
      const main = renderLetters(letters, query, top, clock.now());
      return answerPage(context, { title: 'Dead letters', path: undefined, base: top, main });
    },
    '/dead-letters/:id': (context) => {
      const id = Number(context.req.param('id'));
      const letter = Number.isSafeInteger(id) ? dependencies.content.findLetter(id) : undefined;
      if (!letter) return answerNoLetter(context, below);
      if ('fault' in letter) return answerUnreadLetter(context, letter.fault, below);
      const main = renderLetter(letter, below, clock.now());
      return answerPage(context, { title: `Dead letter ${id}`, path: undefined, base: below, main });
    },
    '/config': (context) => {
      const { content } = dependencies;
      const names = content.listNames().toSorted();
      const main = renderConfig(
        content.describeConfiguration(),
        content.renderConfig(),
        names,
        (name) => content.renderRouterConfig(name),
        top,
        clock.now(),
      );
      return answerPage(context, { title: 'Configuration', path: 'config', base: top, main });
    },
  };
}

/** Collects the state of the sinks and of the spool. */
export function describeDelivery(content: WebContent): Delivery {
  return { sinks: content.listSinks(), spool: content.describeSpool() };
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
