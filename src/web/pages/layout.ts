import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { renderMany } from '../../base/index.ts';
import type { FleetShards, PeerFault } from '../fan-out.ts';
import { answerText } from '../server/answers.ts';
import type { Handler, WebContext, WebDependencies } from '../server/context.ts';
import { type Html, html, toShown } from './html.ts';

/** A page with its route. `Content`: what it shows. */
export interface Page<Content> {
  /** May have parameters: `/router/:name`. */
  readonly path: string;
  /** Title in the navigation. Default: no entry. */
  readonly entry?: string | undefined;
  /** Renders the page, or answers in another way such as a redirect. `base`: prefix of links, empty or with a trailing slash. */
  render(dependencies: WebDependencies<Content>, context: WebContext, base: string): Promise<PageBody | Response>;
}

/** Title and content of a page. */
export interface PageBody {
  /** Without the name of the program. */
  readonly title: string;
  readonly main: Html;
  /** Colour of the dot in the favicon. Default: neutral. */
  readonly tone?: keyof typeof DOTS | undefined;
  /** Default: 200. */
  readonly status?: 200 | 404 | 503;
}

interface Entry {
  /** Path below `base`; empty for the fleet. */
  readonly to: string;
  readonly name: string;
  readonly isCurrent: boolean;
}

interface Asset {
  readonly type: string;
  readonly text: string;
  /** Changes with the content, so that browsers can cache it until then. */
  readonly version: string;
}

/** The files that all pages use, by path. */
export type Assets = ReadonlyMap<string, Asset>;

/** In the package, next to the bundle. */
const ASSETS_FOLDER = new URL(import.meta.url.endsWith('.ts') ? '../assets/' : './assets/', import.meta.url);
const ASSET_TYPES = { 'pages.css': 'text/css; charset=utf-8', 'pages.js': 'text/javascript; charset=utf-8' } as const;
/** A year: the URL changes with the content. */
const ASSET_CACHE = 'max-age=31536000, immutable';

/** Colours that can be seen on light and dark tabs. */
const DOTS = { good: '#2da44e', warn: '#bf8700', bad: '#d1242f', soft: '#8c959f' } as const;

const HEADERS: Readonly<Record<string, string>> = {
  /** Only our own style sheet and script, requests and forms to this server, and no framing by other pages. */
  'Content-Security-Policy': [
    "default-src 'none'",
    "style-src 'self'",
    "script-src 'self'",
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; '),
  'Referrer-Policy': 'no-referrer',
};

/** Reads the style sheet and the script of all pages. */
export function readAssets(): Assets {
  return new Map(
    Object.entries(ASSET_TYPES).map(([name, type]) => {
      const text = readFileSync(new URL(name, ASSETS_FOLDER), 'utf8');
      const version = createHash('sha256').update(text).digest('base64url').slice(0, 16);
      return [`assets/${name}`, { type, text, version }];
    }),
  );
}

/** Creates the handlers of the assets, by path. */
export function createAssetHandlers(assets: Assets): Readonly<Record<string, Handler>> {
  return Object.fromEntries(
    [...assets].map(([path, { type, text, version }]) => {
      // A page of another version, from another process of the fleet, may request it.
      const answer: Handler = (context) =>
        answerText(context, type, text, context.req.query('v') === version ? ASSET_CACHE : undefined);
      return [`/${path}`, answer];
    }),
  );
}

function renderIcon(tone: keyof typeof DOTS): string {
  const dot = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="7" fill="${DOTS[tone]}"/></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(dot)}`;
}

/** Answers with a complete page, with `notice` at its top. The favicon is in the page, so that browsers request none. */
export async function answerPage(
  context: WebContext,
  { title, main, tone = 'soft', status = 200 }: PageBody,
  base: string,
  entries: readonly Entry[],
  assets: Assets,
  notice: string | undefined,
): Promise<Response> {
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} – router-exporter</title>
<link rel="icon" href="${renderIcon(tone)}">
<link rel="stylesheet" href="${toAddress(assets, 'assets/pages.css', base)}">
<script type="module" src="${toAddress(assets, 'assets/pages.js', base)}"></script>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header>
<strong>router-exporter</strong>
<nav aria-label="Pages">
<ul>
${entries.map(({ to, name, isCurrent }) => html`<li><a href="${toHref(base, to)}"${isCurrent ? html` aria-current="page"` : ''}>${name}</a></li>`)}
</ul>
</nav>
<div class="refresh" id="refresh"></div>
</header>
<main id="main" tabindex="-1">
${notice === undefined ? '' : html`<p class="notice">${notice}</p>\n`}${main}
</main>
<footer>
Metrics: <a href="${base}metrics">all</a>, <a href="${base}metrics/agent">agent</a>.
<a href="${base}sd">Service discovery</a>.
JSON: <a href="${base}api/v1/routers">routers</a>, <a href="${base}api/v1/sinks">sinks</a>. <span id="times">All times are UTC.</span> <span id="zone"></span>
</footer>
</body>
</html>
`;
  for (const [name, value] of Object.entries(HEADERS)) context.header(name, value);
  context.status(status);
  return answerText(context, 'text/html; charset=utf-8', String(await page));
}

function toAddress(assets: Assets, path: string, base: string): string {
  return `${base}${path}?v=${assets.get(path)?.version}`;
}

/** Renders a link to a page. An empty link would mean the current page with its query. */
export function toHref(base: string, path: string): string {
  return base + path || './';
}

/** Renders notices about missing data of other processes: `what`, as in `Deliveries`, or `missing` within a sentence. */
export function renderNotices(
  shards: FleetShards | undefined,
  faults: readonly PeerFault[],
  what: string,
  missing: string,
): Html {
  return html`${renderAlone(shards, what)}${renderMissing(faults, missing)}`;
}

/** Names the processes with missing rows, each with what is missing: by default, its routers. */
export function renderMissing(faults: readonly PeerFault[], what?: string): Html {
  return html`${faults.map((fault) => {
    const { name, shard, url, routers, error, leftOut } = fault;
    const who = name === undefined ? `Process ${shard}` : `Replica ${toShown(name)}`;
    const at = url === '' ? '' : ` (${toShown(url)})`;
    if (leftOut !== undefined) {
      return html`<p class="notice"><strong>${who}${at} sends ${renderMany(leftOut, 'row')} that ${leftOut === 1 ? 'is' : 'are'} left out</strong> of its ${what ?? 'routers'}. ${toShown(error)}</p>
`;
    }
    const lack =
      what === undefined ? `its ${renderMany(routers, 'router')} cannot be shown` : `its ${what} are missing here`;
    return html`<p class="notice"><strong>${who}${at} does not answer:</strong> ${lack}. ${toShown(error)}</p>
`;
  })}`;
}

/** Renders a notice that the page shows only this process, because the addresses of the others are not configured. */
export function renderAlone(shards: FleetShards | undefined, what: string): Html | string {
  if (!shards || shards.peers.length > 0 || shards.total < 2) return '';
  return html`<p class="notice">${what} of this process (${shards.index} of ${shards.total}) alone: list all processes in <code>web.peers</code> to see those of the others.</p>`;
}
