import type { SinkSummary } from '../api/delivery.ts';
import type { Delivery } from './fleet-page.ts';
import { type Html, html, toShown } from './html.ts';
import { renderAgo, renderBytes, renderCount, renderLength, renderMany } from './quantities.ts';
import { type Column, renderTable } from './table.ts';

const STATES = { up: ['good', 'up'], down: ['bad', 'down'], unknown: ['soft', 'nothing delivered yet'] } as const;

/** Number of routers that a notice names. */
const NAMES_MAX = 10;
/** Within this time, somebody should look. Seconds. */
const SOON_S = 6 * 3600;
/** A few bytes in ten minutes say nothing about what lies beyond. Seconds. */
const FAR_S = 30 * 86_400;

/** Renders the sinks and the spool. */
export function renderSinks({ sinks, spool }: Delivery, base: string, nowMs: number): Html {
  const { records, bytes, bytesMax, isHeldBack, routersHeldBack } = spool;
  const letters = sinks.reduce((sum, { deadLetters }) => sum + deadLetters, 0);
  return html`<h1>Sinks</h1>
${isHeldBack ? html`<p class="notice"><strong>Log reading is paused: the spool or its disk is full.</strong> Lines that the routers delete until it resumes are reported as gaps.</p>` : ''}
${routersHeldBack.length > 0 ? html`<p class="notice"><strong>Log reading is paused for ${renderMany(routersHeldBack.length, 'router')}:</strong> ${renderNames(routersHeldBack)}. The waiting records of each take as much of the spool as is free.</p>` : ''}
<h2>Spool</h2>
<p>${renderMany(records, 'record')} waiting, in ${renderBytes(bytes)} of ${renderBytes(bytesMax)}.
<meter aria-label="Share of the spool that is used" min="0" max="${bytesMax}" high="${Math.round(bytesMax * 0.9)}" value="${Math.min(bytes, bytesMax)}"></meter>
${renderGrowth(spool)}</p>
<h2>Destinations</h2>
${renderTable({ caption: renderMany(sinks.length, 'sink'), columns: createColumns(base, nowMs), rows: sinks, empty: 'No sink is configured, so no log is read.', className: 'stack' })}
${letters === 0 ? '' : html`<p><a href="${base}dead-letters">Dead letters</a> are records that a sink rejected permanently: <code>router-exporter dead-letters replay</code> tries them again.</p>`}`;
}

/** Renders when the spool is full. */
function renderGrowth({ bytes, bytesMax, secondsToFull }: Delivery['spool']): Html | string {
  if (bytes >= bytesMax) return html`<strong class="bad">It is full.</strong>`;
  // Also before it was measured for long enough.
  if (secondsToFull === null) return 'No growth was seen in the last 10 min.';
  if (secondsToFull > FAR_S) return html`<span class="soft">It grows slowly: not full within 30 days.</span>`;
  return html`<span class="${secondsToFull < SOON_S ? 'bad' : 'soft'}">Full in ${renderLength(secondsToFull)} if it goes on growing as in the last 10 min.</span>`;
}

function renderNames(names: readonly string[]): string {
  const rest = names.length - NAMES_MAX;
  return [...names.slice(0, NAMES_MAX), ...(rest > 0 ? [`${rest} more`] : [])].join(', ');
}

function createColumns(base: string, nowMs: number): readonly Column<SinkSummary>[] {
  return [
    { title: 'Sink', cell: ({ name }) => name },
    { title: 'Type', cell: ({ type }) => type },
    {
      title: 'State',
      cell: ({ state }) => {
        const [tone, word] = STATES[state];
        return html`<span class="state ${tone}">${word}</span>`;
      },
    },
    { title: 'Records/s', kind: 'number', cell: ({ recordsPerSecond }) => renderRate(recordsPerSecond) },
    { title: 'Delivered', kind: 'number', cell: ({ recordsDelivered }) => renderCount(recordsDelivered) },
    { title: 'Waiting', kind: 'number', cell: ({ recordsWaiting }) => renderCount(recordsWaiting) },
    { title: 'Lag', kind: 'number', cell: ({ lagSeconds }) => renderLength(lagSeconds) },
    {
      title: 'Dead letters',
      kind: 'number',
      cell: ({ name, deadLetters }) =>
        deadLetters === 0
          ? '0'
          : html`<a href="${base}dead-letters?sink=${encodeURIComponent(name)}"><strong class="warn">${renderCount(deadLetters)}</strong></a>`,
    },
    {
      title: 'Last success',
      cell: ({ lastSuccess }) => (lastSuccess === null ? 'never' : renderAgo(lastSuccess, nowMs)),
    },
    {
      title: 'Last error',
      kind: 'wide',
      cell: ({ error, lastFailure }) =>
        lastFailure === null
          ? 'none'
          : html`${renderAgo(lastFailure.at, nowMs)}: <span class="${error === null ? 'soft' : 'bad'}">${toShown(lastFailure.error)}</span>`,
    },
  ];
}

/** `0.25`, `12`: records per second. */
function renderRate(perSecond: number): string {
  return perSecond < 10 ? String(Number(perSecond.toFixed(2))) : renderCount(perSecond);
}
