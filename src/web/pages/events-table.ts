import type { EventSummary } from '../api/events.ts';
import { type Html, html, renderAgo, renderMoment, toShown } from './html.ts';
import { renderTable } from './table.ts';

interface EventsView {
  /** True: each row names its router. */
  readonly showRouter: boolean;
  /** Prefix of links. */
  readonly base: string;
  readonly nowMs: number;
}

/** Of kinds, by their last part. */
const TONES = { down: 'bad', up: 'good', boot: 'warn', serial: 'warn', gap: 'warn', reset: 'warn' } as Record<
  string,
  string
>;

/** Renders events, the newest first, in a table that is never wider than the screen. A gap is one row with both ends. */
export function renderEvents(events: readonly EventSummary[], { showRouter, base, nowMs }: EventsView): Html {
  const gaps = new Set<unknown>(events.map(({ uid }) => uid));
  const rows = events.filter(({ details }) => !gaps.has(details['gap_uid']));
  const time = {
    title: 'Time (UTC)',
    cell: ({ at }: EventSummary) => html`${renderMoment(at)} <span class="soft">${renderAgo(at, nowMs)}</span>`,
  };
  const kind = {
    title: 'Event',
    cell: (event: EventSummary) =>
      html`<span class="tag ${TONES[event.kind.replace(/.*\./, '')] ?? ''}">${event.kind}</span>`,
  };
  const router = {
    title: 'Router',
    cell: ({ router: name }: EventSummary) =>
      name === null
        ? ''
        : html`<a href="${base}router/${encodeURIComponent(name)}?view=events">${toShown(name, 120)}</a>`,
  };
  const what = {
    title: 'What',
    kind: 'wide' as const,
    cell: ({ message, uid, details: own }: EventSummary) => {
      const { until } = events.find(({ details }) => details['gap_uid'] === uid)?.details ?? own;
      return html`<bdi>${toShown(message)}</bdi>${typeof until === 'string' ? html`, until ${renderMoment(until)}` : ''}`;
    },
  };
  const columns = showRouter ? [time, kind, router, what] : [time, kind, what];
  return renderTable({ caption: 'Events', columns, rows, empty: 'No events.', className: 'stack' });
}
