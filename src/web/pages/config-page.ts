import { type Html, html } from './html.ts';
import { renderMany } from './quantities.ts';

/** Routers whose configuration stands on the page; that of each stands on its own page. */
const ROUTERS_SHOWN_MAX = 20;

/** What runs, defaults applied and without secrets. Routers are named in the order of names. */
export function renderConfig(
  common: string,
  names: readonly string[],
  renderRouter: (name: string) => string | undefined,
  base: string,
): Html {
  const shown = names.slice(0, ROUTERS_SHOWN_MAX);
  const rest = names.length - shown.length;
  return html`<h1>Configuration</h1>
<p>What runs, with the keys of the configuration file and with all defaults. Secrets are <code>[secret]</code>; what a file holds is said in brackets.</p>
<h2>The agent</h2>
<pre tabindex="0" role="region" aria-label="Configuration of the agent">${common}</pre>
<h2>Routers</h2>
<p>${renderMany(names.length, 'router')}.${rest > 0 ? html` The first ${shown.length} stand here; that of each stands on its page, see <a href="${base || './'}">fleet</a>.` : ''}</p>
${shown.map(
  (name) => html`<details><summary>${name}</summary>
<p><a href="${base}router/${encodeURIComponent(name)}">State of ${name}</a></p>
<pre tabindex="0" role="region" aria-label="Configuration of ${name}">${renderRouter(name) ?? ''}</pre></details>
`,
)}`;
}
