import { type Html, html } from './html.ts';
import { renderMany } from './quantities.ts';

/** Maximum number of routers listed; each router's configuration is also on its own page. */
const ROUTERS_SHOWN_MAX = 20;

/** Renders the running configuration with defaults applied and without secrets. Routers are sorted by name. */
export function renderConfig(
  common: string,
  names: readonly string[],
  renderRouter: (name: string) => string | undefined,
  base: string,
): Html {
  const shown = names.slice(0, ROUTERS_SHOWN_MAX);
  const rest = names.length - shown.length;
  return html`<h1>Configuration</h1>
<p>The running configuration, with the keys of the configuration file and all defaults. Secrets are shown as <code>[secret]</code>, the content of other files as a placeholder in brackets.</p>
<h2>The agent</h2>
<pre tabindex="0" role="region" aria-label="Configuration of the agent">${common}</pre>
<h2>Routers</h2>
<p>${renderMany(names.length, 'router')}.${rest > 0 ? html` The first ${shown.length} are listed; each router's configuration is on its own page, see <a href="${base || './'}">fleet</a>.` : ''}</p>
${shown.map(
  (name) => html`<details><summary>${name}</summary>
<p><a href="${base}router/${encodeURIComponent(name)}">State of ${name}</a></p>
<pre tabindex="0" role="region" aria-label="Configuration of ${name}">${renderRouter(name) ?? ''}</pre></details>
`,
)}`;
}
