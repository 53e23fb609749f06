import { forEachYielding, renderCount, renderMany } from '../../base/index.ts';
import type { ConfigurationSummary, PlanSummary, SourceSummary } from '../api/configuration.ts';
import { ConcurrencyLimit } from '../server/limits.ts';
import type { FleetContent } from '../whole-fleet.ts';
import { type Html, html, renderAgo, toShown } from './html.ts';
import type { Page } from './layout.ts';
import { type Column, renderTable } from './table.ts';
import { compareRanks, sortPage } from './table-query.ts';

/** Routers listed; each router's configuration is also on its own page. */
const ROUTERS_SHOWN_MAX = 20;
const FAULTS_MAX = 20;

/** Concurrent pages: each takes tens of milliseconds of the main thread. */
const gate = new ConcurrencyLimit(2);

/** The content of the configuration page. */
export interface ConfigContent extends Pick<FleetContent, 'listNames'> {
  /** The running configuration without the routers, as YAML without secrets. */
  renderConfig(): string;
  /** The running configuration of one router, as YAML without secrets; `undefined` if it is not configured. */
  renderRouterConfig(name: string): string | undefined;
  /** Warnings about the configuration, its last reload, and the sources of its routers. */
  describeConfiguration(): ConfigurationSummary;
}

/** The running configuration, and what a reload would change. */
export const configPage: Page<ConfigContent> = {
  path: '/config',
  entry: 'Configuration',
  async render({ content, clock }, _context, base) {
    const render = () => renderConfig(content, base, clock.now());
    return { title: 'Configuration', main: await gate.run('requests for the configuration', render) };
  },
};

/** In steps, because the configuration of a router takes a millisecond or two. */
async function renderConfig(content: ConfigContent, base: string, nowMs: number): Promise<Html> {
  const names = content.listNames();
  const common = content.renderConfig();
  const shown: { readonly name: string; readonly config: string }[] = [];
  await forEachYielding(await sortPage(names, compareRanks, 0, ROUTERS_SHOWN_MAX), (name) =>
    shown.push({ name, config: content.renderRouterConfig(name) ?? '' }),
  );
  const summary = content.describeConfiguration();
  const rest = names.length - shown.length;
  return html`<h1>Configuration</h1>
<p>The running configuration, with the keys of the configuration file and all defaults. Each key shows where it is set: file and line, command-line flag, or <code>default</code>. Secrets are shown as <code>[secret]</code>, the content of other files as a placeholder in brackets.</p>
<p>Loaded ${renderAgo(summary.loadedAt, nowMs)}. ${renderReload(summary, nowMs)}</p>
${renderFaults(summary)}
${renderPending(summary, nowMs)}
${renderWarnings(summary)}
${renderSources(summary, nowMs)}
<h2>The agent</h2>
<pre tabindex="0" role="region" aria-label="Configuration of the agent">${common}</pre>
<h2>Routers</h2>
<p>${renderMany(names.length, 'router')}.${rest > 0 ? html` The first ${shown.length} are listed; each router's configuration is on its own page, see <a href="${base || './'}">fleet</a>.` : ''}</p>
${shown.map(
  ({ name, config }) => html`<details><summary>${name}</summary>
<p><a href="${base}router/${encodeURIComponent(name)}">State of ${name}</a></p>
<pre tabindex="0" role="region" aria-label="Configuration of ${name}">${config}</pre></details>
`,
)}`;
}

function renderReload({ lastReload }: ConfigurationSummary, nowMs: number): Html | string {
  if (lastReload === null) return 'Not reloaded since the agent started.';
  if (lastReload.faults.length === 0) return html`The last reload, ${renderAgo(lastReload.at, nowMs)}, succeeded.`;
  return html`<strong class="bad">The last reload, ${renderAgo(lastReload.at, nowMs)}, failed.</strong>`;
}

function renderFaults({ lastReload }: ConfigurationSummary): Html | string {
  if (lastReload === null || lastReload.faults.length === 0) return '';
  return html`<div class="notice"><p><strong>The files are invalid; the previous configuration stays in use.</strong> All faults: <code>router-exporter check</code></p>
${renderList(lastReload.faults)}</div>`;
}

function renderPending({ pending, lastReload }: ConfigurationSummary, nowMs: number): Html | string {
  if (pending === null) return '';
  if (pending === 'unchanged') return html`<p>Its files have not changed since.</p>`;
  const { at, result } = pending;
  if (!result.ok) {
    // Shown already as the last reload.
    if (result.faults.join('\n') === lastReload?.faults.join('\n')) return '';
    return html`<div class="notice"><p><strong>A file has changed, and a reload would fail</strong> (${renderAgo(at, nowMs)}). The running configuration stays in use.</p>
${renderList(result.faults)}</div>`;
  }
  const changes = describeChanges(result.plan);
  if (changes.length === 0) {
    return html`<p>A file has changed (${renderAgo(at, nowMs)}), but a reload would change nothing.</p>`;
  }
  return html`<h2 id="pending">What a reload would change</h2>
<p>A file has changed (${renderAgo(at, nowMs)}) but is not applied yet. To apply it: <code>systemctl reload router-exporter</code>, SIGHUP, or <code>POST /-/reload</code>.</p>
<ul>${changes}</ul>`;
}

function describeChanges({ routers, sections, needsRestart }: PlanSummary): readonly Html[] {
  const { added, changed, removed, reconnected } = routers;
  return [
    ...renderNamed('to be added', added.count, added.names),
    ...(changed.count === 0
      ? []
      : [
          html`<li>${renderMany(changed.count, 'router')} to be changed:${renderRest(
            changed.routers.map(({ name, keys }) => html`<strong>${name}</strong> (${toShown(keys.join(', '))})`),
            changed.count,
          )}</li>`,
        ]),
    ...renderNamed('to be removed', removed.count, removed.names),
    ...(reconnected === 0 ? [] : [html`<li>${renderMany(reconnected, 'session')} to be restarted</li>`]),
    ...(sections.length === 0 ? [] : [html`<li>Sections that differ: ${sections.join(', ')}</li>`]),
    ...(needsRestart.length === 0
      ? []
      : [html`<li><strong class="warn">Needs a restart of the agent:</strong> ${needsRestart.join(', ')}</li>`]),
  ];
}

function renderNamed(what: string, count: number, names: readonly string[]): readonly Html[] {
  if (count === 0) return [];
  const shown = names.map((name) => html`<strong>${name}</strong>`);
  return [html`<li>${renderMany(count, 'router')} ${what}:${renderRest(shown, count)}</li>`];
}

function renderRest(things: readonly Html[], count: number): Html {
  const shown = things.slice(0, FAULTS_MAX);
  const rest = count - shown.length;
  return html`${shown.map((one, index) => html`${index === 0 ? ' ' : ', '}${one}`)}${rest > 0 ? ` and ${renderCount(rest)} more` : ''}`;
}

function renderWarnings({ warnings }: ConfigurationSummary): Html | string {
  if (warnings.length === 0) return '';
  return html`<h2>Warnings</h2>
${renderList(warnings)}`;
}

function renderList(texts: readonly string[]): Html {
  const rest = texts.length - FAULTS_MAX;
  return html`<ul>${texts.slice(0, FAULTS_MAX).map((text) => html`<li>${toShown(text, 1000)}</li>`)}${rest > 0 ? html`<li class="soft">${renderCount(rest)} more</li>` : ''}</ul>`;
}

function renderSources({ sources }: ConfigurationSummary, nowMs: number): Html | string {
  if (sources.length === 0) return '';
  const held = sources.filter((source) => source.held !== null);
  return html`<h2>Sources of routers</h2>
${held.map(
  (source) =>
    html`<div class="notice"><p><strong>The newest answer of ${source.name} lacks ${renderCount(source.held?.missing ?? 0)} of ${renderMany(source.held?.of ?? 0, 'router')}, so it is not used.</strong> If they are to be removed: <code>curl -X POST '…/-/reload?accept_removals=${source.name}'</code>, or a larger <code>removal_max</code> and a reload.</p></div>`,
)}
${renderTable({ caption: renderMany(sources.length, 'source'), columns: createSourceColumns(nowMs), rows: sources, empty: '', className: 'stack' })}`;
}

const STATES = { up: ['good', 'up'], down: ['bad', 'down'], unknown: ['soft', 'not read yet'] } as const;

function createSourceColumns(nowMs: number): readonly Column<SourceSummary>[] {
  return [
    { title: 'Source', cell: ({ name }) => name },
    {
      title: 'State',
      cell: ({ state }) => {
        const [tone, word] = STATES[state];
        return html`<span class="state ${tone}">${word}</span>`;
      },
    },
    {
      title: 'Last success',
      cell: ({ lastSuccess }) =>
        lastSuccess === null ? 'none since the agent started' : renderAgo(lastSuccess, nowMs),
    },
    { title: 'Routers', kind: 'number', cell: ({ routers }) => renderCount(routers) },
    {
      title: 'Refused',
      kind: 'number',
      cell: ({ refused }) => (refused === 0 ? '0' : html`<strong class="warn">${renderCount(refused)}</strong>`),
    },
    {
      title: 'Held removals',
      kind: 'number',
      cell: ({ held }) => (held === null ? '0' : html`<strong class="warn">${renderCount(held.missing)}</strong>`),
    },
    {
      title: 'Error or refusals',
      kind: 'wide',
      cell: ({ error, refusals }) => toShown([...(error === null ? [] : [error]), ...refusals].join('; ')),
    },
  ];
}
