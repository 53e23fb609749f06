import type { EventSummary } from '../api/events.ts';
import { type Html, html, renderAgo, renderMoment, toShown } from './html.ts';
import { type Column, renderTable } from './table.ts';

interface EventsView {
  /** True: each row names its router. */
  readonly showRouter: boolean;
  /** Prefix of links. */
  readonly base: string;
  readonly nowMs: number;
}

const TONES: Readonly<Record<string, string>> = {
  'router.down': 'bad',
  'router.up': 'good',
  'router.boot': 'warn',
  'router.serial': 'warn',
  'log.gap': 'warn',
  'log.reset': 'warn',
};
const GAP = 'log.gap';
const GAP_END = 'log.gap_end';

/** Renders events, the newest first, in a table that is never wider than the screen. A gap is one row with both ends. */
export function renderEvents(events: readonly EventSummary[], { showRouter, base, nowMs }: EventsView): Html {
  const gaps = new Set(events.flatMap(({ kind, uid }) => (kind === GAP ? [uid] : [])));
  const ends = new Map(events.flatMap((event) => (event.kind === GAP_END ? [[event.details['gap_uid'], event]] : [])));
  const rows = events.filter(({ kind, details }) => kind !== GAP_END || !gaps.has(String(details['gap_uid'])));
  const columns: readonly Column<EventSummary>[] = [
    {
      title: 'Time (UTC)',
      cell: ({ at }) => html`${renderMoment(at)} <span class="soft">${renderAgo(at, nowMs)}</span>`,
    },
    { title: 'Event', cell: ({ kind }) => html`<span class="tag ${TONES[kind] ?? ''}">${kind}</span>` },
    ...(showRouter ? [createRouterColumn(base)] : []),
    {
      title: 'What',
      kind: 'wide',
      cell: (event) =>
        html`<bdi>${toShown(event.message)}</bdi>${event.kind === GAP ? renderEnd(ends.get(event.uid)) : ''}`,
    },
  ];
  return renderTable({ caption: 'Events', columns, rows, empty: 'No events.', className: 'stack' });
}

function createRouterColumn(base: string): Column<EventSummary> {
  return {
    title: 'Router',
    kind: 'text',
    cell: ({ router }) =>
      router === null
        ? html`<span class="soft">agent</span>`
        : html`<a href="${base}router/${encodeURIComponent(router)}?view=events"><bdi>${toShown(router, 120)}</bdi></a>`,
  };
}

function renderEnd(end: EventSummary | undefined): Html | string {
  const time = end?.details['time_to'];
  if (!end) return '';
  return html` <span class="soft">The log continues${typeof time === 'string' ? html` at ${renderMoment(time)}` : ''}.</span>`;
}
