import { renderBytes, renderCount, renderMany } from '../../base/index.ts';
import type { ProcessSummary, SinkSummary, SpoolSummary } from '../api/process.ts';
import { collectProcesses, type FleetContent, type ProcessPart } from '../whole-fleet.ts';
import { type Html, html, renderAgo, renderLength, renderShortSpell, renderSince, toShown } from './html.ts';
import { type Page, renderNotices } from './layout.ts';
import { type Column, renderTable } from './table.ts';

const STATES = { up: ['good', 'up'], down: ['bad', 'down'], unknown: ['soft', 'nothing delivered yet'] } as const;

const NAMES_MAX = 10;
/** Within this time, an operator should look. Seconds. */
const SOON_S = 6 * 3600;
/** A few bytes in ten minutes predict nothing beyond. Seconds. */
const FAR_S = 30 * 86_400;

interface SinkRow extends SinkSummary {
  /** `undefined` if there is only one. */
  readonly process: string | undefined;
}

/** The sinks and the spools of all processes. */
export const sinksPage: Page<FleetContent> = {
  path: '/sinks',
  entry: 'Sinks',
  async render(dependencies, _context, base) {
    const { content, clock } = dependencies;
    const { values, faults } = await collectProcesses(dependencies);
    const notices = renderNotices(content.describeShards(), faults, 'Deliveries', 'deliveries');
    return { title: 'Sinks', main: renderSinks(values, notices, base, clock.now()) };
  },
};

function renderSinks(
  processes: readonly ProcessPart<ProcessSummary>[],
  notices: Html,
  base: string,
  nowMs: number,
): Html {
  const sinks = processes.flatMap(({ name: process, value }) =>
    value.sinks.map((sink): SinkRow => ({ ...sink, process })),
  );
  const letters = sinks.reduce((sum, { deadLetters }) => sum + deadLetters, 0);
  const isShared = processes.some(({ name }) => name !== undefined);
  return html`<h1>Sinks</h1>
${notices}
${processes.map(renderHeldBack)}
<h2>Spool</h2>
${processes.map(renderSpool)}
<h2>Destinations</h2>
${renderTable({ caption: renderMany(sinks.length, 'sink'), columns: createColumns(isShared, base, nowMs), rows: sinks, empty: 'No sink is configured, so no log is read.', className: 'stack' })}
${letters === 0 ? '' : html`<p><a href="${base}dead-letters">Dead letters</a> are records that a sink rejected permanently. To retry them: <code>router-exporter dead-letters replay</code></p>`}`;
}

function renderHeldBack({ name, value: { spool } }: ProcessPart<ProcessSummary>): Html {
  const { isHeldBack, routersHeldBack } = spool;
  const at = name === undefined ? '' : ` at ${toShown(name)}`;
  return html`${isHeldBack ? html`<p class="notice"><strong>Log reading is paused${at}: records cannot be stored.</strong> The spool or its disk is full, or the servers of the cluster cannot be reached. Lines that the routers delete until it resumes are reported as gaps.</p>` : ''}
${routersHeldBack.length > 0 ? html`<p class="notice"><strong>Log reading is paused for ${renderMany(routersHeldBack.length, 'router')}${at}:</strong> ${renderNames(routersHeldBack)}. The waiting records of each take as much of the spool as is free.</p>` : ''}`;
}

function renderSpool({ name, value: { spool } }: ProcessPart<ProcessSummary>): Html {
  const { records, bytes, bytesMax } = spool;
  const [who, of] = name === undefined ? ['', ''] : [html`<b>${toShown(name)}:</b> `, ` of ${toShown(name)}`];
  return html`<p>${who}${renderMany(records, 'record')} waiting, in ${renderBytes(bytes)} of ${renderBytes(bytesMax)}.
<meter aria-label="Share of the spool${of} that is used" min="0" max="${bytesMax}" high="${Math.round(bytesMax * 0.9)}" value="${Math.min(bytes, bytesMax)}"></meter>
${renderGrowth(spool)}</p>
`;
}

function renderGrowth({ bytes, bytesMax, secondsToFull }: SpoolSummary): Html | string {
  if (bytes >= bytesMax) return html`<strong class="bad">It is full.</strong>`;
  // Also before there were ten minutes of measurements.
  if (secondsToFull === null) return 'No growth was measured in the last 10 min.';
  if (secondsToFull > FAR_S) return html`<span class="soft">It grows slowly: not full within 30 days.</span>`;
  return html`<span class="${secondsToFull < SOON_S ? 'bad' : 'soft'}">Full in ${renderLength(secondsToFull)} at the growth of the last 10 min.</span>`;
}

function renderNames(names: readonly string[]): string {
  const rest = names.length - NAMES_MAX;
  return [...names.slice(0, NAMES_MAX).map((name) => toShown(name)), ...(rest > 0 ? [`${rest} more`] : [])].join(', ');
}

function createColumns(isShared: boolean, base: string, nowMs: number): readonly Column<SinkRow>[] {
  const processColumn: Column<SinkRow> = { title: 'Process', cell: ({ process }) => toShown(process ?? '') };
  return [
    { title: 'Sink', cell: ({ name }) => toShown(name) },
    ...(isShared ? [processColumn] : []),
    { title: 'Type', cell: ({ type }) => toShown(type) },
    {
      title: 'State',
      cell: (sink) => renderSinkState(sink, nowMs),
    },
    { title: 'Records/s', kind: 'number', cell: ({ recordsPerSecond }) => renderRate(recordsPerSecond) },
    { title: 'Delivered', kind: 'number', cell: ({ recordsDelivered }) => renderCount(recordsDelivered) },
    {
      title: 'Waiting',
      kind: 'number',
      help: 'Kept in the spool until the sink accepts them: not lost',
      cell: ({ recordsWaiting }) => renderCount(recordsWaiting),
    },
    { title: 'Lag', kind: 'number', cell: ({ lagSeconds }) => renderLength(lagSeconds) },
    {
      title: 'Dead letters',
      kind: 'number',
      help: 'Records that the sink rejected permanently: not retried until you replay them',
      cell: ({ name, deadLetters }) =>
        deadLetters === 0
          ? '0'
          : html`<a href="${base}dead-letters?sink=${encodeURIComponent(name)}"><strong class="warn">${renderCount(deadLetters)}</strong></a>`,
    },
    {
      title: 'Last success',
      cell: ({ lastSuccess, startedAt }) => {
        if (lastSuccess !== null) return renderAgo(lastSuccess, nowMs);
        return startedAt === null ? 'never' : html`never since the start at ${renderSince(startedAt, nowMs)}`;
      },
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

function renderSinkState({ state, reason, since }: SinkSummary, nowMs: number): Html {
  const [tone, word] = STATES[state];
  const why = state === 'down' && reason !== null ? ` (${toShown(reason)})` : '';
  const spell = since === null ? '' : html` <span class="soft">since ${renderShortSpell(since, nowMs)}</span>`;
  return html`<span class="state ${tone}">${word}</span>${why}${spell}`;
}

/** `0.25`, `12`: records per second. */
function renderRate(perSecond: number): string {
  return perSecond < 10 ? String(Number(perSecond.toFixed(2))) : renderCount(perSecond);
}
