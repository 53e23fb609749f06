import { type Handler, toBase, type WebDependencies } from '../server/context.ts';
import { type ConfigContent, configPage } from './config-page.ts';
import { type DeadLettersContent, deadLetterPage, deadLettersPage } from './dead-letters-page.ts';
import { type FleetPageContent, fleetPage } from './fleet-page.ts';
import { type Assets, answerPage, type Page } from './layout.ts';
import { type LogsContent, linesPage, positionsPage } from './logs-page.ts';
import { type RouterPageContent, routerPage } from './router-page.ts';
import { sinksPage } from './sinks-page.ts';

/** The content of all pages. */
export interface PagesContent
  extends FleetPageContent,
    RouterPageContent,
    LogsContent,
    DeadLettersContent,
    ConfigContent {
  /** Says that the pages are open to the network; `undefined` if they are not. */
  describeOpenAccess(): string | undefined;
}

/** In the order of the navigation. */
const PAGES: readonly Page<PagesContent>[] = [
  fleetPage,
  routerPage,
  linesPage,
  positionsPage,
  sinksPage,
  deadLettersPage,
  deadLetterPage,
  configPage,
];

/** Creates the handlers of the HTML pages, by path. */
export function createPageHandlers(
  dependencies: WebDependencies<PagesContent>,
  assets: Assets,
): Readonly<Record<string, Handler>> {
  const createHandler = (page: Page<PagesContent>): Handler => {
    const { path } = page;
    const base = toBase(dependencies, '../'.repeat(path.split('/').length - 2));
    const entries = PAGES.flatMap(({ path: to, entry }) => {
      if (entry === undefined) return [];
      return [{ to: to.slice(1), name: entry, isCurrent: path === to || (to !== '/' && path.startsWith(`${to}/`)) }];
    });
    return async (context) => {
      const body = await page.render(dependencies, context, base);
      return body instanceof Response
        ? body
        : answerPage(context, body, base, entries, assets, dependencies.content.describeOpenAccess());
    };
  };
  return Object.fromEntries(PAGES.map((page) => [page.path, createHandler(page)]));
}
