import { html } from 'hono/html';
import type { RouterState, RouterSummary, SinkSummary, SpoolSummary } from './api-types.ts';

const STATES: Readonly<Record<RouterState, string>> = {
  up: 'up',
  down: 'down',
  unknown: 'not polled yet',
  budget: 'byte budget used up',
};

/** Scripts do not run, nothing is loaded, and no other page may show this one in a frame. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy':
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
};

/** What is on its way to the sinks. */
export interface Delivery {
  readonly sinks: readonly SinkSummary[];
  readonly spool: SpoolSummary;
}

/**
 * The fleet as one table, and the sinks as another. Everything in it is escaped. `base` stands before all links: empty, or a path with a slash at
 * its end.
 */
export function renderStatusPage(routers: readonly RouterSummary[], { sinks, spool }: Delivery, base: string) {
  const upCount = routers.filter(({ state }) => state === 'up').length;
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>router-exporter</title>
<style>
  :root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
  body { max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
  table { border-collapse: collapse; width: 100%; }
  th, td { text-align: left; padding: 0.3rem 0.8rem 0.3rem 0; border-bottom: 1px solid #8884; vertical-align: top; }
</style>
<h1>router-exporter</h1>
<p>${upCount} of ${routers.length} routers up.</p>
<p>
  Metrics: <a href="${base}metrics">all</a>, <a href="${base}metrics/agent">agent</a>.
  <a href="${base}sd">Service discovery</a>.
  JSON: <a href="${base}api/v1/routers">routers</a>, <a href="${base}api/v1/sinks">sinks</a>.
</p>
<table>
  <thead><tr><th>Router</th><th>State</th><th>Last success</th><th>Address</th><th>Error</th><th></th></tr></thead>
  <tbody>
    ${routers.map((router) => renderRow(router, base))}
  </tbody>
</table>
<h2>Sinks</h2>
${spool.isHeldBack ? html`<p role="alert"><strong>Reading of logs pauses: there is no room for more records.</strong></p>` : ''}
<p>${spool.records} records wait, in ${toMebibytes(spool.bytes)} of ${toMebibytes(spool.bytesMax)} MiB.</p>
<table>
  <thead><tr><th>Sink</th><th>Type</th><th>State</th><th>Delivered</th><th>Waiting</th><th>Lag</th><th>Dead letters</th><th>Error</th></tr></thead>
  <tbody>
    ${sinks.map(renderSink)}
  </tbody>
</table>
</html>
`;
}

function renderSink(sink: SinkSummary) {
  const { name, type, state, recordsDelivered, recordsWaiting, lagSeconds, deadLetters, error } = sink;
  return html`<tr><td>${name}</td><td>${type}</td><td>${state}</td><td>${recordsDelivered}</td><td>${recordsWaiting}</td><td>${Math.round(
    lagSeconds,
  )} s</td><td>${deadLetters}</td><td>${error ?? ''}</td></tr>
    `;
}

function toMebibytes(bytes: number): string {
  return (bytes / 1024 ** 2).toFixed(1);
}

function renderRow({ name, state, lastSuccess, url, failure }: RouterSummary, base: string) {
  const query = encodeURIComponent(name);
  return html`<tr><td><a href="${base}api/v1/routers/${query}">${name}</a></td><td>${STATES[state]}</td><td>${
    lastSuccess ?? 'never'
  }</td><td>${url}</td><td>${failure?.error ?? ''}</td><td><a href="${base}probe?target=${query}">Metrics</a></td></tr>
    `;
}
