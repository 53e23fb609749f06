import type { RouterSummary } from '../api/routers.ts';
import { cutMiddle, type Html, html, toShown } from './html.ts';
import { NOTHING, renderAgo, renderBytes, renderLength, renderShortSpell } from './quantities.ts';
import { renderSignal } from './signal.ts';
import { renderSparkline } from './sparkline.ts';
import type { Column } from './table.ts';
import { renderStep, STATE_NAMES, STATE_TONES } from './words.ts';

/** Errors are truncated to this length; the router's page shows them in full. */
const ERROR_CHARS_MAX = 240;

/** What the error codes of the system mean. */
const CODES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EPIPE: 'connection broken',
  ETIMEDOUT: 'no answer',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  ENOTFOUND: 'host name not found',
  EAI_AGAIN: 'the name server does not answer',
};
const CODE = new RegExp(`\\b(?:${Object.keys(CODES).join('|')})\\b`);
/** The advice behind an error, and the request before it. */
const ADVICE = /[.?!] (?:Check|Raise|If) .*$/s;
const REQUEST = /^(?:(?:GET|HEAD|POST|PUT|DELETE) \S+|TCP to \S+ port \d+) /;

/** Why a router is not up, or not wholly: `TCP: GET /x could not connect: …`; empty when nothing fails. */
function toReason(router: RouterSummary): string {
  return renderReason(router, (error) => toShown(error, ERROR_CHARS_MAX));
}

/** The cause alone, for a narrow column: `TCP: connection refused`; empty when nothing fails. */
function toBriefReason(router: RouterSummary): string {
  return renderReason(router, (error) => toShown(toCause(error), ERROR_CHARS_MAX));
}

function renderReason({ failure, fault }: RouterSummary, render: (error: string) => string): string {
  const error = failure?.error ?? fault?.error;
  if (error === undefined) return '';
  return fault ? `${renderStep(fault)}: ${render(error)}` : render(error);
}

function toCause(error: string): string {
  const code = CODE.exec(error)?.[0];
  if (code !== undefined) return CODES[code] ?? code;
  return error
    .replace(ADVICE, '')
    .replace(REQUEST, '')
    .replace(/^The router refused to log in user/, 'refused user')
    .replace(/^The router's certificate is /, 'certificate ');
}

/** Context of the cells of the fleet besides the router. */
export interface FleetColumnOptions {
  /** Prefix of all links. */
  readonly base: string;
  /** The present time, Unix time in ms. */
  readonly nowMs: number;
  /** Returns the results of the polls of one router. */
  readonly availabilityOf: (router: RouterSummary) => string;
}

const LABELS_SHOWN_MAX = 4;
/** Labels behind the name. */
const LABELS_MAX = 16;
/** Names of up to this length stay whole. */
const NAME_CHARS_MAX = 24;
/** Share of the byte budget above which it is shown as a warning. */
const BUDGET_SHARE_HIGH = 0.9;

/** Creates the columns of the fleet. Each has a class, by which narrow screens arrange or leave it out. */
export function createFleetColumns(options: FleetColumnOptions): readonly Column<RouterSummary>[] {
  const { nowMs, availabilityOf } = options;
  return [
    { title: 'Router', key: 'name', className: 'c-name', cell: (router) => renderName(router, options) },
    { title: 'State', key: 'state', className: 'c-state', cell: renderState },
    { title: 'Reason', key: 'step', className: 'c-reason', tooltip: toReason, cell: toBriefReason },
    {
      title: 'Since',
      key: 'since',
      className: 'c-since',
      tooltip: ({ isFirstState }) => (isFirstState ? 'It was so at the first poll since the agent started' : ''),
      cell: ({ since, isFirstState }) =>
        html`${isFirstState && since !== null ? 'by ' : ''}${renderShortSpell(since, nowMs)}`,
    },
    {
      title: 'Signal',
      key: 'signal',
      className: 'c-signal',
      // Of a router that is down, the last value is no grade of the present.
      cell: ({ state, device: { signal } }) => (signal ? renderSignal(signal, state === 'up', true) : NOTHING),
    },
    {
      title: 'Operator',
      key: 'operator',
      className: 'c-operator',
      tooltip: toOperator,
      cell: (router) => html`<bdi>${toOperator(router)}</bdi>`,
    },
    {
      title: 'WAN',
      key: 'wan',
      className: 'c-wan',
      tooltip: ({ device: { wan } }) => toShown(wan ?? ''),
      cell: ({ device: { wan } }) => html`<bdi>${toShown(wan ?? NOTHING)}</bdi>`,
    },
    {
      title: 'Uptime',
      kind: 'number',
      key: 'uptime',
      className: 'c-uptime',
      cell: ({ device }) => renderLength(device.uptimeSeconds),
    },
    {
      title: 'Firmware',
      key: 'firmware',
      className: 'c-firmware',
      tooltip: ({ firmware }) => toShown(firmware ?? ''),
      cell: ({ firmware }) => toShown(firmware ?? NOTHING),
    },
    {
      title: 'Log lag',
      kind: 'number',
      key: 'lag',
      className: 'c-lag',
      cell: ({ logLagSeconds }) => renderLength(logLagSeconds),
    },
    { title: 'Bytes today', kind: 'number', key: 'bytes', className: 'c-bytes', tooltip: toUsed, cell: renderUsed },
    { title: 'Last 6 h', className: 'c-spark', cell: (router) => renderSparkline(availabilityOf(router)) },
  ];
}

/** The name as a link, and behind it whatever has no column or was cut. */
function renderName(router: RouterSummary, { base, nowMs }: FleetColumnOptions): Html {
  const { name, url, labels, lastSuccess, durationSeconds, device, firmware } = router;
  const short = cutMiddle(name, NAME_CHARS_MAX);
  const reason = toReason(router);
  const facts: (readonly [string, Html | string])[] = [
    ...(short === name ? [] : [['Name', name] as const]),
    ...(reason === '' ? [] : [['Reason', reason] as const]),
    ['Address', toShown(url)],
    ['Labels', html`<bdi>${renderLabels(labels, LABELS_MAX)}</bdi>`],
    ['Last success', lastSuccess === null ? 'never' : renderAgo(lastSuccess, nowMs)],
    ['Poll', renderLength(durationSeconds)],
    ['Model', toShown(device.model ?? NOTHING)],
    ['Firmware', toShown(firmware ?? NOTHING)],
    ['Location', html`<bdi>${toShown(device.location ?? NOTHING)}</bdi>`],
    ['Operator', html`<bdi>${toOperator(router) || NOTHING}</bdi>`],
    ['WAN', html`<bdi>${toShown(device.wan ?? NOTHING)}</bdi>`],
    ['Uptime', renderLength(device.uptimeSeconds)],
    ['Log lag', renderLength(router.logLagSeconds)],
    ['Bytes today', toUsed(router)],
  ];
  return html`<a class="name" href="${base}router/${encodeURIComponent(name)}"${short === name ? '' : html` title="${name}"`}>${short}</a><details class="more" id="more-${name}"><summary aria-label="More about ${name}">⋯</summary><dl class="panel">${facts.map(
    ([title, value]) => html`<dt>${title}</dt><dd>${value}</dd>`,
  )}</dl></details>`;
}

/** Renders the state, and notes when the values are stale and when the router is in maintenance. */
export function renderState({ state, isStale, fault, lifecycle }: RouterSummary): Html {
  const stale = isStale ? html`, <span class="warn">stale</span>` : '';
  const isPart = state === 'up' && fault !== null;
  return html`<span class="state ${isPart ? 'warn' : STATE_TONES[state]}">${STATE_NAMES[state]}${isPart ? ' in part' : ''}</span>${stale}${lifecycle.state === 'maintenance' ? html`, <span class="warn">maintenance</span>` : ''}`;
}

function toOperator({ device: { operator, technology } }: RouterSummary): string {
  return [operator, technology]
    .map((text) => toShown(text ?? ''))
    .filter((text) => text !== '')
    .join(' · ');
}

function toUsed({ bytesToday, byteBudget }: RouterSummary): string {
  return byteBudget === null ? renderBytes(bytesToday) : `${renderBytes(bytesToday)} of ${renderBytes(byteBudget)}`;
}

/** The bytes of today; with a budget, their share of it. */
function renderUsed({ bytesToday, byteBudget }: RouterSummary): Html | string {
  if (byteBudget === null) return renderBytes(bytesToday);
  const share = bytesToday / byteBudget;
  const words = `${renderBytes(bytesToday)} (${Math.round(share * 100)} %)`;
  return share < BUDGET_SHARE_HIGH ? words : html`<strong class="warn">${words}</strong>`;
}

/** Renders at most `max` labels as `name=value`, and the number of the others. */
export function renderLabels(labels: RouterSummary['labels'], max = LABELS_SHOWN_MAX): string {
  const all = Object.entries(labels);
  const shown = all.slice(0, max).map(([label, value]) => `${label}=${toShown(value, 60)}`);
  if (all.length === 0) return NOTHING;
  return all.length > max ? `${shown.join(', ')}, and ${all.length - max} more` : shown.join(', ');
}
