import { renderCount, renderMany } from '../../base/index.ts';
import type { ConfigurationSummary } from '../api/configuration.ts';
import type { ProcessSummary, SpoolSummary } from '../api/process.ts';
import type { ProcessPart } from '../whole-fleet.ts';
import type { FacetCount } from './facets.ts';
import { type Html, html, renderLength, toShown } from './html.ts';

/** One thing that an operator should look at, with a link to where it is seen. */
interface Concern {
  readonly tone: 'bad' | 'warn';
  readonly text: string;
  readonly href: string;
}

interface Concerned {
  /** Routers of the whole fleet, by key of the filters. */
  readonly counts: Readonly<Record<string, number>>;
  readonly total: number;
  /** Log gaps of the whole fleet. */
  readonly gaps: number;
  readonly processes: readonly ProcessPart<ProcessSummary>[];
  readonly configuration: ConfigurationSummary;
  /** The worst first; none in an outage, which names them itself. */
  readonly sites: readonly (FacetCount & { readonly name: string })[];
}

/** With the outage, which is shown before them. */
export const CONCERNS_MAX = 6;
const NAMED_MAX = 3;
/** Within this time, an operator should look. Seconds. */
const SOON_S = 6 * 3600;
const SPOOL_SHARE_HIGH = 0.9;

/** Lists what an operator should look at, the worst first. */
export function listConcerns(fleet: Concerned, base: string): readonly Concern[] {
  const { counts, processes } = fleet;
  const sinks = processes.flatMap(({ name, value }) => value.sinks.map((sink) => ({ ...sink, at: renderAt(name) })));
  const letters = sinks.reduce((sum, one) => sum + one.deadLetters, 0);
  const some = (count: number | undefined, tone: Concern['tone'], href: string, render: (count: number) => string) =>
    count === undefined || count === 0 ? [] : [{ tone, href, text: render(count) }];
  const down = sinks.filter(({ state }) => state === 'down').map(({ name, at }) => toShown(name, 60) + at);
  const names = down.length > NAMED_MAX ? '' : `: ${down.join(', ')}`;
  const dark = fleet.sites.filter(({ total, down: failing }) => total > 1 && failing === total);
  const where = dark.map(({ name }) => toShown(name, 60)).join(', ');
  const site = dark.length === 1 ? `?site=${encodeURIComponent(dark[0]?.name ?? '')}` : '?state=down';
  return [
    ...some(dark.length, 'bad', site, (count) => {
      return `All routers are down at ${count > NAMED_MAX ? renderMany(count, 'site') : where}`;
    }),
    ...some(counts['loss'], 'bad', '?state=loss', (count) => `${renderMany(count, 'router')} may lose log lines`),
    ...some(down.length, 'bad', `${base}sinks`, (count) => {
      return `${renderCount(count)} of ${renderMany(sinks.length, 'sink')} down${names}`;
    }),
    ...listReloads(fleet.configuration, base),
    ...processes.flatMap(({ name, value }) => listSpool(value.spool, renderAt(name), fleet.total, base)),
    ...some(fleet.gaps, 'warn', `${base}logs/positions?sort=-gaps`, (count) => renderMany(count, 'log gap')),
    ...some(letters, 'warn', `${base}dead-letters`, (count) => renderMany(count, 'dead letter')),
    ...some(counts['certificate'], 'warn', '?state=certificate', (count) => {
      return `${renderMany(count, 'certificate')} of routers ${count === 1 ? 'expires' : 'expire'} within 30 days`;
    }),
    ...some(counts['drift'], 'warn', '?state=drift', (count) => {
      return `${renderMany(count, 'router')} with a changed profile or an unexpected configuration`;
    }),
    ...some(counts['rebooted'], 'warn', '?state=rebooted', (count) => {
      return `${renderMany(count, 'router')} restarted within the last hour`;
    }),
  ];
}

function renderAt(process: string | undefined): string {
  return process === undefined ? '' : ` at ${toShown(process)}`;
}

function listReloads({ lastReload, pending }: ConfigurationSummary, base: string): readonly Concern[] {
  const href = `${base}config`;
  const faults = lastReload?.faults.length ?? 0;
  if (faults > 0) return [{ tone: 'bad', href, text: `The last reload failed: ${renderMany(faults, 'fault')}` }];
  const isBroken = pending !== null && pending !== 'unchanged' && !pending.result.ok;
  return isBroken ? [{ tone: 'warn', href, text: 'A file has changed, and a reload would fail' }] : [];
}

function listSpool(spool: SpoolSummary, at: string, total: number, base: string): readonly Concern[] {
  const { bytes, bytesMax, secondsToFull, isHeldBack, routersHeldBack } = spool;
  const href = `${base}sinks`;
  if (isHeldBack) return [{ tone: 'bad', href, text: `Log reading is paused${at}: records cannot be stored` }];
  if (routersHeldBack.length > 0) {
    const who = `${renderCount(routersHeldBack.length)} of ${renderMany(total, 'router')}`;
    return [{ tone: 'bad', href, text: `Log reading is paused for ${who}${at}: their records fill the spool` }];
  }
  if (secondsToFull !== null && secondsToFull < SOON_S) {
    return [
      { tone: 'warn', href, text: `The spool${at} is full in ${renderLength(secondsToFull)} at its present growth` },
    ];
  }
  if (bytes < bytesMax * SPOOL_SHARE_HIGH) return [];
  return [{ tone: 'warn', href, text: `The spool${at} is ${Math.round((bytes / bytesMax) * 100)} % full` }];
}

/** Renders the first concerns; nothing without any. */
export function renderConcerns(concerns: readonly Concern[], max: number): Html | string {
  if (concerns.length === 0) return '';
  return html`<section aria-label="Attention"><ul class="attention">${concerns
    .slice(0, max)
    .map(({ tone, text, href }) => html`<li><a class="${tone}" href="${href}">${text}</a></li>`)}</ul></section>`;
}
