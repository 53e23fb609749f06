import { renderBytes, renderMany } from '../../base/index.ts';
import { findSite, type ListedRouter, type RouterSummary } from '../api/routers.ts';
import { isRebooted } from './fleet-filters.ts';
import {
  cutMiddle,
  type Html,
  html,
  NOTHING,
  renderAgo,
  renderBitRate,
  renderLength,
  renderShortSpell,
  toShown,
} from './html.ts';
import { isOverPlan } from './money.ts';
import {
  hasCurrentValues,
  renderLabels,
  renderSignal,
  renderSparkline,
  renderState,
  renderStep,
  toneState,
} from './router-facts.ts';
import type { Column } from './table.ts';

/** The router's page shows errors in full. */
const ERROR_CHARS_MAX = 240;

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
/** The hint after an error, and the request before it. */
const ADVICE = /[.?!] (?:Check|Raise|If) .*$/s;
const REQUEST = /^(?:(?:GET|HEAD|POST|PUT|DELETE) \S+|TCP to \S+ port \d+) /;

/** Why a router is not up or is degraded: `connect: GET /x could not connect: …`; empty without a failure. */
function toReason(router: RouterSummary): string {
  return renderReason(router, (error) => toShown(error, ERROR_CHARS_MAX));
}

/** The cause alone, for a narrow column: `connect: connection refused`. */
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

/** Time of one letter of the availability. Seconds. */
const AVAILABILITY_S = 720;
const LABELS_MAX = 16;
/** Longer names are shortened. */
const NAME_CHARS_MAX = 24;
/** Share of the byte budget above which it is shown as a warning. */
const BUDGET_SHARE_HIGH = 0.9;

/** Creates the columns of the fleet. Narrow screens rearrange or hide them by their classes. */
export function createFleetColumns(base: string, nowMs: number): readonly Column<ListedRouter>[] {
  return [
    { title: 'Router', key: 'name', className: 'c-name', cell: (router) => renderName(router, base, nowMs) },
    { title: 'State', key: 'state', className: 'c-state', cell: renderState },
    { title: 'Reason', key: 'step', className: 'c-reason', tooltip: toReason, cell: toBriefReason },
    {
      title: 'Since',
      key: 'since',
      className: 'c-since',
      tooltip: ({ isFirstState }) => (isFirstState ? 'In this state at least since the first poll' : ''),
      cell: ({ since, isFirstState }) =>
        html`${isFirstState && since !== null ? 'by ' : ''}${renderShortSpell(since, nowMs)}`,
    },
    textColumn('Site', 'site', (router) => findSite(router) ?? ''),
    textColumn('Model', 'model', ({ device }) => device.model ?? ''),
    textColumn('Uplink', 'wan', toUplink),
    {
      title: 'Signal',
      key: 'signal',
      className: 'c-signal',
      // The last value of a router that is down gets no grade.
      cell: (router) =>
        router.device.signal ? renderSignal(router.device.signal, hasCurrentValues(router), true) : NOTHING,
    },
    {
      title: 'Bit/s',
      help: 'Received / sent',
      kind: 'number',
      key: 'traffic',
      className: 'c-traffic',
      tooltip: (router) => `Received / sent: ${toTraffic(router)} bit/s`,
      cell: toTraffic,
    },
    {
      title: 'Uptime',
      kind: 'number',
      key: 'uptime',
      className: 'c-uptime',
      tooltip: (router) => (isRebooted(router) ? 'Restarted within the last hour' : ''),
      cell: (router) => {
        const words = renderLength(router.device.uptimeSeconds);
        if (isRebooted(router)) return html`<strong class="warn">${words}</strong>`;
        return hasCurrentValues(router) ? words : html`<span class="soft">${words}</span>`;
      },
    },
    { title: 'Log lag', kind: 'number', key: 'lag', className: 'c-lag', cell: (router) => renderLogs(router, base) },
    {
      title: 'Bytes today / forecast',
      help: 'Of the agent today / of the data plan at its end; without a plan, of the agent in 30 days',
      kind: 'number',
      key: 'bytes',
      className: 'c-bytes',
      tooltip: toUsed,
      cell: renderUsed,
    },
    {
      title: 'Last 24 h',
      className: 'c-spark',
      cell: ({ availability }) => renderSparkline(availability, AVAILABILITY_S),
    },
  ];
}

/** A column of text that may be cut. */
function textColumn(title: string, key: string, toText: (router: RouterSummary) => string): Column<ListedRouter> {
  const toShownText = (router: RouterSummary) => toShown(toText(router));
  return {
    title,
    key,
    className: `c-${key}`,
    tooltip: toShownText,
    // What a router reported before is grey.
    cell: (router) =>
      html`<bdi${hasCurrentValues(router) ? '' : html` class="soft"`}>${toShownText(router) || NOTHING}</bdi>`,
  };
}

function toUplink({ device: { wan, operator, technology } }: RouterSummary): string {
  return [wan, operator, technology].filter((text) => text).join(' · ');
}

function toTraffic({ traffic }: RouterSummary): string {
  if (!traffic) return NOTHING;
  const rates = [traffic.receiveBytesPerSecond, traffic.transmitBytesPerSecond].map(renderBitRate);
  return rates.map((rate) => rate.replace(/ ?bit\/s/, '')).join(' / ');
}

function renderLogs({ name, logLagSeconds, gaps }: RouterSummary, base: string): Html | string {
  const lag = renderLength(logLagSeconds);
  if (gaps === 0) return lag;
  return html`${lag} <a class="warn" href="${base}router/${encodeURIComponent(name)}?view=positions">${renderMany(gaps, 'gap')}</a>`;
}

function renderName(router: RouterSummary, base: string, nowMs: number): Html {
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
    ['Uplink', html`<bdi>${toShown(toUplink(router)) || NOTHING}</bdi>`],
    ['Bit/s', toTraffic(router)],
    ['Uptime', renderLength(device.uptimeSeconds)],
    ['Log lag', renderLogs(router, base)],
    ['Bytes today', toUsed(router)],
  ];
  return html`<span class="dot ${toneState(router)}"></span><a class="name" href="${base}router/${encodeURIComponent(name)}"${short === name ? '' : html` title="${name}"`}>${short}</a><details class="more" id="more-${name}"><summary aria-label="More about ${name}">⋯</summary><dl class="panel">${facts.map(
    ([title, value]) => html`<dt>${title}</dt><dd>${value}</dd>`,
  )}</dl></details>`;
}

function toUsed({ bytesToday, byteBudget, use }: RouterSummary): string {
  const today =
    byteBudget === null ? renderBytes(bytesToday) : `${renderBytes(bytesToday)} of ${renderBytes(byteBudget)}`;
  if (use.forecast !== null && use.limit !== null)
    return `${today}; ${renderBytes(use.forecast)} of ${renderBytes(use.limit)} at the end of the data plan`;
  return use.agentForecast === null ? today : `${today}; ${renderBytes(use.agentForecast)} in 30 days at this rate`;
}

function renderUsed({ bytesToday, byteBudget, use }: RouterSummary): Html | string {
  const share = byteBudget === null ? 0 : bytesToday / byteBudget;
  const words = `${renderBytes(bytesToday)}${byteBudget === null ? '' : ` (${Math.round(share * 100)} %)`}`;
  const today = share < BUDGET_SHARE_HIGH ? words : html`<strong class="warn">${words}</strong>`;
  const month = use.forecast ?? use.agentForecast;
  const tone = isOverPlan(use) ? 'warn' : 'soft';
  return month === null ? today : html`${today} / <span class="${tone}">${renderBytes(month)}</span>`;
}
