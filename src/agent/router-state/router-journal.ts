import { z } from 'zod';
import { parseJson, renderDuration } from '../../base/index.ts';
import { GAP_REASONS, renderEventUid } from '../../logs/index.ts';
import { type EventRecord, LOG_EVENTS, ROUTER_EVENTS, type RouterIdentity } from '../../model/index.ts';
import type { EventSummary } from '../../web/index.ts';
import { ROUTER_STATES } from '../metrics/self-metrics.ts';
import type { Moment, RouterEvent, RouterState } from './router-state.ts';

type Details = Readonly<Record<string, string | number | null>>;

/** An event as stored. */
const storedEvent = z.object({
  kind: z.enum([...ROUTER_EVENTS, ...LOG_EVENTS]),
  /** Wall time. */
  at: z.number(),
  /** Number of an event of the router, or the uid of the record of a `log.*` event. */
  id: z.union([z.int(), z.string()]),
  details: z.record(z.string(), z.union([z.string(), z.number(), z.null()])),
});
export type JournalEvent = Readonly<z.output<typeof storedEvent>>;

const storedJournal = z.object({
  next: z.int().nonnegative(),
  reach: z.enum(ROUTER_STATES),
  since: z.string().nullable(),
  downSince: z.string().nullish(),
  lastSuccess: z.string().nullable(),
  failure: z.custom<RouterState['failure']>((value) => typeof Object(value).error === 'string').optional(),
  bootMs: z.number().optional(),
  facts: z.record(z.string(), z.string()),
  events: z.array(storedEvent),
});
type StoredJournal = z.output<typeof storedJournal>;

/** Events of one router in memory; fewer are stored in a large fleet. */
export const EVENTS_MAX = 100;
/** Events older than this are not shown. Milliseconds. */
const KEEP_MS = 30 * 86_400_000;
const JOURNAL_CHARS_MAX = 32 * 1024;
const TEXT_CHARS_MAX = 200;
/** A start of the router that moves by more is stored again: the clocks differ, or one was set. Milliseconds. */
const DRIFT_MS = 60_000;
/** After a restart, a router counts as restarted if it runs for this much less than expected, or for this part of the time. */
const UNSURE_MS = 120_000;
const UNSURE_PART = 0.001;

/** Kinds of changes of facts that are events. */
const FACT_EVENTS: ReadonlyMap<string, JournalEvent['kind']> = new Map(
  (['firmware', 'serial', 'config', 'wan', 'sim', 'modem'] as const).map((fact) => [fact, `router.${fact}`]),
);

/**
 * The events of one router and what the next ones follow from, stored as one text: its state, its facts, and the number of
 * the next event. Only `reduceRouter` changes it. Nothing happens before {@link recall}.
 */
export class RouterJournal {
  /** The newest first. */
  events: readonly JournalEvent[] = [];
  /** As stored at the start of this agent, or by the replica that had the router before. */
  recalled: Pick<StoredJournal, 'reach' | 'since' | 'lastSuccess' | 'failure'> | undefined;
  #next: number | undefined;
  /** Events from this number on are not stored yet. */
  #nextStored = 0;
  /** Start of the outage; `null` while the router answers; `undefined` before the first contact. */
  #downSince: string | null | undefined;
  #state = '';
  /** Start of the router by the agent's clock. Wall time. */
  #bootMs: number | undefined;
  #uptimeSeconds: number | undefined;
  #revision = 0;
  #revisionStored = 0;

  /** True if it has to be stored. */
  get isChanged(): boolean {
    return this.#revision !== this.#revisionStored;
  }

  /** Continues from a stored text; any other text means a first contact. Returns the stored facts. */
  recall(text: string | undefined, { wallMs }: Moment): StoredJournal['facts'] {
    const stored = storedJournal.safeParse(parseJson(text ?? '')).data;
    // Not from zero: the uids of a router whose journal was lost would be those of earlier events.
    this.#next = stored?.next ?? Math.floor(wallMs);
    this.#nextStored = this.#next;
    this.#revisionStored = this.#revision;
    this.#downSince = stored?.downSince;
    this.#bootMs = stored?.bootMs;
    this.#uptimeSeconds = undefined;
    this.#state = stored ? renderState(stored) : '';
    this.events = stored?.events ?? [];
    this.recalled = stored;
    return stored?.facts ?? {};
  }

  /** Adds the events that follow from one that has been applied to the state. */
  follow(state: RouterState, event: RouterEvent, at: Moment): void {
    if (this.#next === undefined) return;
    const { reach, failure, since } = state;
    if (reach === 'down' || reach === 'up') this.#followReach(reach === 'down' ? since : null, failure, at);
    const shown = renderState(state);
    if (reach !== 'unknown' && shown !== this.#state) {
      this.#state = shown;
      this.#revision++;
    }
    switch (event.type) {
      case 'polled':
        if (!event.result.isIdle) this.#followDevice(state, at);
        break;
      case 'journal-recalled':
      case 'gaps-recalled':
      case 'log-gap-found':
        for (const gap of state.gaps.toReversed()) {
          const { component, certainty, reason, bytesMin = null } = gap;
          const details = { component, certainty, reason, bytes_min: bytesMin, time_to: toTime(gap.untilUtcMs) };
          this.#addOfLog('log.gap', gap.uid, gap.foundMs, details);
        }
        break;
      case 'log-gap-ended': {
        const { component, uid, gapUid, untilUtcMs } = event;
        const details = { component, gap_uid: gapUid, time_to: toTime(untilUtcMs) };
        this.#addOfLog('log.gap_end', uid, at.wallMs, details);
        break;
      }
      case 'log-reset':
        this.#addOfLog('log.reset', event.uid, at.wallMs, { component: event.component, reason: event.reason });
        break;
      case 'log-clock-jumped': {
        const { component, uid, beforeUtcMs, afterUtcMs } = event;
        const details = { component, before: toTime(beforeUtcMs), after: toTime(afterUtcMs) };
        this.#addOfLog('log.clock_jump', uid, at.wallMs, details);
        break;
      }
    }
  }

  /** Returns those that were noticed at `fromMs` or later, within 30 days. Wall time. */
  list(fromMs: number, nowMs: number): readonly JournalEvent[] {
    return this.events.filter(({ at }) => at >= fromMs && at > nowMs - KEEP_MS);
  }

  /**
   * Returns the text to store, with the events that were not stored yet, the oldest first. Call `onStored` afterwards. At most
   * `eventsMax` events are kept.
   */
  prepare(state: RouterState, eventsMax: number) {
    const [next, revision] = [this.#next ?? 0, this.#revision];
    // A gap that is recalled before the first poll does not change what was known.
    const { reach, since, lastSuccess, failure } = (state.reach === 'unknown' && this.recalled) || state;
    this.events = keepNewest(this.events, eventsMax);
    const render = () =>
      JSON.stringify({
        next,
        reach,
        since,
        downSince: this.#downSince,
        lastSuccess,
        failure: failure && { ...failure, error: cut(failure.error) },
        bootMs: this.#bootMs,
        facts: state.changes.list(),
        events: this.events,
      });
    let text = render();
    for (; text.length > JOURNAL_CHARS_MAX && this.events.length > 0; text = render()) {
      this.events = keepNewest(this.events, this.events.length - Math.ceil(this.events.length / 8));
    }
    const pending = this.events.filter(({ id }) => typeof id === 'number' && id >= this.#nextStored).toReversed();
    const onStored = () => {
      this.#nextStored = Math.max(this.#nextStored, next);
      this.#revisionStored = revision;
    };
    return { text, pending, onStored };
  }

  #followReach(downSince: string | null, failure: RouterState['failure'], at: Moment): void {
    const before = this.#downSince;
    this.#downSince = downSince;
    if (before === undefined || (before === null) === (downSince === null)) return;
    if (downSince !== null) {
      const { reason = null, step = null, error = '' } = failure ?? {};
      this.#add('router.down', at, { reason, step, error: cut(error) });
    } else {
      const seconds = Math.max(0, Math.round((at.wallMs - Date.parse(before ?? '')) / 1000));
      this.#add('router.up', at, { down_since: before, down_seconds: seconds });
    }
  }

  #followDevice({ changes }: RouterState, at: Moment): void {
    if (changes.uptime) this.#followUptime(changes.uptime, at);
    for (const { kind: fact, modem, before, after } of changes.latest) {
      if (fact !== 'cell') this.#revision++;
      const kind = FACT_EVENTS.get(fact);
      if (kind && before !== undefined) this.#add(kind, at, { ...(modem !== '' && { modem }), before, after });
    }
  }

  /** While this agent watches, uptime that goes back is a restart, whatever the clocks do. */
  #followUptime({ seconds, readAtMs }: NonNullable<RouterState['changes']['uptime']>, at: Moment): void {
    const readWallMs = at.wallMs - Math.max(0, at.ms - readAtMs);
    const bootMs = Math.round(readWallMs - seconds * 1000);
    const [before, expectedMs] = [this.#uptimeSeconds, readWallMs - (this.#bootMs ?? bootMs)];
    const missingMs = expectedMs - seconds * 1000;
    const hasRestarted =
      before === undefined ? missingMs > Math.max(UNSURE_MS, expectedMs * UNSURE_PART) : seconds < before;
    if (hasRestarted) this.#add('router.boot', at, { uptime_seconds: Math.round(seconds) });
    this.#uptimeSeconds = seconds;
    if (this.#bootMs !== undefined && !hasRestarted && Math.abs(bootMs - this.#bootMs) < DRIFT_MS) return;
    this.#bootMs = bootMs;
    this.#revision++;
  }

  #add(kind: JournalEvent['kind'], { wallMs }: Moment, details: Details): void {
    if (this.#next !== undefined) this.#insert({ kind, at: Math.floor(wallMs), id: this.#next++, details });
  }

  /** A failed step of a log is repeated, and its gaps are recalled. */
  #addOfLog(kind: JournalEvent['kind'], uid: string, atMs: number, details: Details): void {
    if (!this.events.some(({ id }) => id === uid)) this.#insert({ kind, at: Math.floor(atMs), id: uid, details });
  }

  #insert(event: JournalEvent): void {
    const events = [event, ...this.events].toSorted((a, b) => b.at - a.at);
    this.events = keepNewest(events, EVENTS_MAX);
    if (this.events.includes(event)) this.#revision++;
  }
}

/** Returns the state of a router as pages show it: one that was down before a restart is down until its first poll. */
export function findShown(state: RouterState): NonNullable<RouterJournal['recalled']> {
  const { recalled } = state.journal;
  return state.reach === 'unknown' && recalled?.reach === 'down' ? recalled : state;
}

/** Events of logs take half of the room at most: a router may write logs that have many. */
function keepNewest(events: readonly JournalEvent[], max: number): readonly JournalEvent[] {
  let logsLeft = Math.ceil(max / 2);
  return events.filter(({ id }) => typeof id === 'number' || logsLeft-- > 0).slice(0, max);
}

function renderState({ reach, since, failure }: Pick<StoredJournal, 'reach' | 'since' | 'failure'>): string {
  return `${reach} ${since} ${failure?.reason ?? ''}`;
}

/** Returns an event as pages and the API show it. */
export function toEventSummary({ kind, at, id, details }: JournalEvent, router: RouterIdentity): EventSummary {
  return {
    at: new Date(at).toISOString(),
    kind,
    router: router.name,
    labels: router.labels,
    uid: typeof id === 'string' ? id : renderEventUid(kind, router.name, '', '', id),
    message: MESSAGES[kind](details),
    details,
  };
}

/** Renders the record of an event of a router. The same event always gives the same bytes. */
export function renderEventRecord(event: JournalEvent, router: RouterIdentity): string {
  const { at, uid, message, labels, details } = toEventSummary(event, router);
  const record: EventRecord = {
    observed_timestamp: at,
    router: router.name,
    message,
    uid,
    ...(Object.keys(labels).length > 0 && { labels }),
    event: event.kind as EventRecord['event'],
    details,
  };
  return JSON.stringify(record);
}

const change = (what: string) => (details: Details) => `${what}: ${details['before']} → ${details['after']}`;

const MESSAGES: Readonly<Record<JournalEvent['kind'], (details: Details) => string>> = {
  'router.down': ({ error }) => `The router is down: ${error}`,
  'router.up': ({ down_seconds: seconds }) => `The router is up again after ${renderDuration(Number(seconds) * 1000)}`,
  'router.boot': ({ uptime_seconds: seconds }) =>
    `The router was restarted, ${renderDuration(Number(seconds) * 1000)} before it was read`,
  'router.firmware': change('Firmware'),
  'router.serial': change('Another device answers, serial number'),
  'router.config': () => 'The configuration of the router was changed',
  'router.wan': change('Active WAN chain'),
  'router.sim': change('SIM card in use'),
  'router.modem': ({ modem, after }) => `The modem ${modem} is ${after}`,
  'log.gap': ({ component, reason }) =>
    `Lines of the log ${component} are missing: ${GAP_REASONS[reason as keyof typeof GAP_REASONS] ?? reason}`,
  'log.gap_end': ({ component }) => `The log ${component} continues after a gap`,
  'log.repeat': ({ component }) => `The log ${component} repeats a line`,
  'log.reset': ({ component, reason }) =>
    `The log ${component} was reset: ${reason === 'replaced' ? 'another device answers' : 'the router deleted its log files'}`,
  'log.clock_jump': change("The router's clock has jumped"),
};

function cut(text: string): string {
  return text.slice(0, TEXT_CHARS_MAX).toWellFormed();
}

function toTime(wallMs: number | undefined): string | null {
  return wallMs === undefined ? null : new Date(wallMs).toISOString();
}
