import { createHash } from 'node:crypto';
import { raw } from 'hono/html';
import { type Html, html } from './html.ts';
import { LIVE_SCRIPT } from './live-script.ts';
import { REFRESH_SCRIPT } from './refresh-script.ts';
import { STYLE } from './style.ts';

/** The scripts of all pages, as one. */
const SCRIPT = REFRESH_SCRIPT + LIVE_SCRIPT;

const hash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/**
 * Allows only our own style and script, requests and forms to this server, and no framing by other pages.
 */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': [
    "default-src 'none'",
    `style-src ${hash(STYLE)}`,
    `script-src ${hash(SCRIPT)}`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; '),
  'Referrer-Policy': 'no-referrer',
};

const PAGES = [
  ['', 'Fleet'],
  ['logs', 'Logs'],
  ['sinks', 'Sinks'],
  ['config', 'Configuration'],
] as const;

/** Title, content and scripts of one page. */
export interface Page {
  /** Title of the page, without the name of the program. */
  readonly title: string;
  /** Path of its entry in the navigation; `undefined` when it has none. */
  readonly path: (typeof PAGES)[number][0] | undefined;
  /** Prefix of all links: empty, or a path with a trailing slash. */
  readonly base: string;
  /** Content of the page. */
  readonly main: Html;
}

/** Renders a whole page. The favicon is empty, so that no browser requests one. */
export function renderPage({ title, path, base, main }: Page): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} – router-exporter</title>
<link rel="icon" href="data:,">
<style>${raw(STYLE)}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header>
<strong>router-exporter</strong>
<nav aria-label="Pages">
<ul>
${PAGES.map(([to, name]) => html`<li><a href="${toHref(base, to)}"${to === path ? html` aria-current="page"` : ''}>${name}</a></li>`)}
</ul>
</nav>
<div class="refresh" id="refresh"></div>
</header>
<main id="main" tabindex="-1">
${main}
</main>
<footer>
Metrics: <a href="${base}metrics">all</a>, <a href="${base}metrics/agent">agent</a>.
<a href="${base}sd">Service discovery</a>.
JSON: <a href="${base}api/v1/routers">routers</a>, <a href="${base}api/v1/sinks">sinks</a>. <span id="times">All times are UTC.</span> <span id="zone"></span>
</footer>
<script type="module">${raw(SCRIPT)}</script>
</body>
</html>
`;
}

/** Renders a link to a page. An empty link would mean the current page with its query. */
export function toHref(base: string, path: string): string {
  return base + path || './';
}
