import { z } from 'zod';
import { parseJson, renderLength } from '../../base/index.ts';
import { type LogEvent, renderEventUid } from '../../logs/index.ts';
import { type EventRecord, LOG_EVENTS, ROUTER_EVENTS, type RouterIdentity } from '../../model/index.ts';
import type { EventSummary, RouterFailureSummary } from '../../web/index.ts';
import { ROUTER_STATES } from '../metrics/self-metrics.ts';
import type { DeviceChanges } from './device-changes.ts';
import type { Moment } from './poll-history.ts';

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
  isFirstReach: z.boolean().default(false),
  downSince: z.string().nullish(),
  lastSuccess: z.string().nullable(),
  failure: z.custom<RouterFailureSummary>((value) => typeof Object(value).error === 'string').optional(),
  bootMs: z.number().optional(),
  facts: z.record(z.string(), z.string()),
  events: z.array(storedEvent).readonly(),
});
type StoredJournal = z.output<typeof storedJournal>;

/** What is stored of the state of a router. */
interface Journaled extends Pick<StoredJournal, 'reach' | 'since' | 'isFirstReach' | 'lastSuccess'> {
  readonly failure: RouterFailureSummary | undefined;
  readonly changes: DeviceChanges;
}

/** Events of one router in memory; fewer are stored in a large fleet. */
export const EVENTS_MAX = 100;
const JOURNAL_CHARS_MAX = 32 * 1024;
const TEXT_CHARS_MAX = 200;
/** A start of the router that moves by more is stored again: the clocks differ, or one was set. Milliseconds. */
const DRIFT_MS = 120_000;
/** A router was restarted if it runs for this much less than expected, or for this part of the time: its clock may be slow. */
const UNSURE_MS = 180_000;
const UNSURE_PART = 0.001;

/** Those that have a record. */
type OfLog = Extract<LogEvent, { readonly uid: string }>;
const OF_LOGS: Readonly<Record<OfLog['type'], JournalEvent['kind']>> = {
  'log-gap-found': 'log.gap',
  'log-gap-ended': 'log.gap_end',
  'log-reset': 'log.reset',
  'log-clock-jumped': 'log.clock_jump',
};

/**
 * The events of one router and what the next ones follow from, stored as one text: its state, its facts, and the number of
 * the next event. Only `reduceRouter` changes it. Nothing happens before {@link recall}.
 */
export class RouterJournal {
  /** The last one first. Not always by time: if the wall clock is set back, new events would be the first to be dropped. */
  events: readonly JournalEvent[] = [];
  /** As stored at the start of this agent, or by the replica that had the router before. */
  recalled: StoredJournal | undefined;
  #next: number | undefined;
  /** Events from this number on are not stored yet. */
  #nextStored = 0;
  /** Start of the outage; `null` while the router answers; `undefined` before the first contact. */
  #downSince: string | null | undefined;
  /** Start of the router by the agent's clock. Wall time. */
  #bootMs: number | undefined;
  #uptime: DeviceChanges['uptime'];

  /** Continues from a stored text; any other text means a first contact. */
  recall(text: string | undefined, { wallMs }: Moment): void {
    const stored = storedJournal.safeParse(parseJson(text ?? '')).data;
    this.recalled = stored;
    this.events = stored?.events ?? [];
    // Not from zero: the uids of a router whose journal was lost would be those of earlier events.
    this.#next = stored?.next ?? Math.floor(wallMs);
    this.#nextStored = this.#next;
    this.#downSince = stored?.downSince;
    this.#bootMs = stored?.bootMs;
    this.#uptime = undefined;
  }

  /**
   * Returns the text to store, with the events that were not stored yet, the oldest first. Call `onStored` afterwards. At most
   * `eventsMax` events are kept.
   */
  prepare(state: Journaled, eventsMax: number) {
    const next = this.#next ?? 0;
    // A gap that is recalled before the first poll does not change what was known.
    const { reach, since, isFirstReach, lastSuccess, failure } = (state.reach === 'unknown' && this.recalled) || state;
    const error = failure?.error.slice(0, TEXT_CHARS_MAX).toWellFormed() ?? '';
    // While it is up, it would be another text after every poll.
    const success = reach === 'up' ? null : lastSuccess;
    const known = { next, reach, since, isFirstReach, lastSuccess: success, facts: state.changes.list() };
    // Those that are too many for the text have their records all the same.
    const pending = this.events.filter(({ id }) => typeof id === 'number' && id >= this.#nextStored).toReversed();
    let text: string;
    let max = eventsMax;
    do {
      const events = keepNewest(this.events, max);
      const own = { downSince: this.#downSince, bootMs: this.#bootMs, events };
      text = JSON.stringify({ ...known, ...own, failure: failure && { ...failure, error } });
      max = events.length >> 1;
    } while (text.length > JOURNAL_CHARS_MAX && max > 0);
    const onStored = () => {
      this.#nextStored = next;
      this.events = keepNewest(this.events, eventsMax);
    };
    return { text, pending, onStored };
  }

  /** Adds an event if the router answers and did not, or the other way round. */
  followReach({ reach, since, failure }: Journaled, at: Moment): void {
    if (reach !== 'down' && reach !== 'up') return;
    const before = this.#downSince;
    this.#downSince = reach === 'down' ? since : null;
    if (before === undefined || (before === null) === (reach === 'up')) return;
    if (before === null) {
      const { reason = null, step = null, error = '' } = failure ?? {};
      this.#add('router.down', at, { reason, step, error: error.slice(0, TEXT_CHARS_MAX).toWellFormed() });
    } else {
      const seconds = Math.max(0, Math.round((at.wallMs - Date.parse(before)) / 1000));
      this.#add('router.up', at, { down_since: before, down_seconds: seconds });
    }
  }

  /** Adds the events that follow from the facts of a poll. `seenMs`: when an earlier agent reached the router. Wall time. */
  followDevice(changes: DeviceChanges, at: Moment, seenMs = 0): void {
    if (changes.uptime) this.#followUptime(changes.uptime, at, seenMs);
    for (const { kind: fact, of, before, after } of changes.latest) {
      const isProfile = fact === 'profile';
      const kind = ROUTER_EVENTS.find((one) => one === (isProfile ? 'router.config' : `router.${fact}`));
      const name = isProfile ? { profile: of } : of !== '' && { modem: of };
      if (kind && before !== undefined) this.#add(kind, at, { ...name, before, after });
    }
  }

  /** While this agent watches, the expected uptime follows from the one before, whatever the clocks do. */
  #followUptime(uptime: NonNullable<DeviceChanges['uptime']>, at: Moment, seenMs: number): void {
    const { seconds, readAtMs } = uptime;
    const readWallMs = at.wallMs - Math.max(0, at.ms - readAtMs);
    const bootMs = Math.round(readWallMs - seconds * 1000);
    // JSON has no infinite numbers, and a router may say what it likes.
    if (!Number.isFinite(bootMs)) return;
    const before = this.#uptime;
    this.#uptime = uptime;
    const expectedMs = before
      ? before.seconds * 1000 + readAtMs - before.readAtMs
      : readWallMs - (this.#bootMs ?? bootMs);
    const unsureMs = Math.max(UNSURE_MS, expectedMs * UNSURE_PART);
    // One that was reached after its start was not restarted since: the clock was set forward.
    const isLess = expectedMs - seconds * 1000 > unsureMs && (before !== undefined || bootMs > seenMs - UNSURE_MS);
    const hasRestarted = isLess || seconds < (before?.seconds ?? 0);
    if (hasRestarted) this.#add('router.boot', at, { uptime_seconds: Math.round(seconds) });
    if (hasRestarted || Math.abs(bootMs - (this.#bootMs ?? 0)) >= DRIFT_MS) this.#bootMs = bootMs;
  }

  /** Adds an event of a log, unless it is known: a failed step is repeated, and gaps are recalled. */
  followLog({ type, uid, ...fields }: OfLog, atMs: number): void {
    if (this.events.some(({ id }) => id === uid)) return;
    const details = Object.entries({ ...fields, foundMs: undefined }).flatMap(([name, value]) => {
      if (value === undefined) return [];
      const key = name.replace(/UtcMs$/, '').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      return [[key, name.endsWith('UtcMs') ? new Date(Number(value)).toISOString() : value]];
    });
    const event = { kind: OF_LOGS[type], at: Math.floor(atMs), id: uid, details: Object.fromEntries(details) };
    this.#insert(event, this.events.findLastIndex(({ at }) => at > event.at) + 1);
  }

  #add(kind: JournalEvent['kind'], { wallMs }: Moment, details: Details): void {
    if (this.#next !== undefined) this.#insert({ kind, at: Math.floor(wallMs), id: this.#next++, details }, 0);
  }

  #insert(event: JournalEvent, place: number): void {
    this.events = keepNewest(this.events.toSpliced(place, 0, event), EVENTS_MAX);
  }
}

/** Events of logs take half of the room at most: a router may write logs that have many. */
function keepNewest(events: readonly JournalEvent[], max: number): readonly JournalEvent[] {
  let logsLeft = Math.ceil(max / 2);
  return events.filter(({ id }) => typeof id === 'number' || logsLeft-- > 0).slice(0, max);
}

/** Returns an event as pages and the API show it. */
export function toEventSummary(
  { kind, at, id, details }: JournalEvent,
  { name, labels }: RouterIdentity,
): EventSummary {
  const uid = typeof id === 'string' ? id : renderEventUid(kind, name, '', '', id);
  const message = renderMessage(kind, details);
  return { at: new Date(at).toISOString(), kind, router: name, labels, uid, message, details };
}

/** Renders the record of an event of a router. The same event always gives the same bytes. */
export function renderEventRecord(event: JournalEvent, router: RouterIdentity): string {
  const { at, uid, message, labels, details } = toEventSummary(event, router);
  const shared = Object.keys(labels).length > 0 ? { labels } : {};
  const kind = event.kind as EventRecord['event'];
  const head = { observed_timestamp: at, router: router.name, message, uid };
  return JSON.stringify({ ...head, ...shared, event: kind, details } satisfies EventRecord);
}

const MESSAGES: Readonly<Record<JournalEvent['kind'], string>> = {
  'router.down': 'The router is down: {error}',
  'router.up': 'The router is up again after {down_seconds}',
  'router.boot': 'The router was restarted; uptime at the poll: {uptime_seconds}',
  'router.firmware': 'Firmware: {before} → {after}',
  'router.serial': 'Another device answers, serial number: {before} → {after}',
  'router.config': 'The configuration was changed',
  'router.wan': 'Active WAN chain: {before} → {after}',
  'router.sim': 'SIM card of {modem}: {before} → {after}',
  'router.modem': 'Modem {modem}: {before} → {after}',
  'log.gap': 'Gap in the log {component} ({certainty}): {reason}',
  'log.gap_end': 'The log {component} continues after a gap',
  'log.repeat': 'The log {component} repeats a line',
  'log.reset': 'The log {component} was reset: {reason}',
  'log.clock_jump': "The router's clock has jumped: {before} → {after}",
};

function renderMessage(kind: JournalEvent['kind'], details: Details): string {
  const message = details['profile'] === undefined ? MESSAGES[kind] : 'Profile {profile}: {before} → {after}';
  return message.replaceAll(/\{(\w+)\}/g, (_, key: string) => {
    const value = details[key] ?? '';
    return key.endsWith('_seconds') ? renderLength(Number(value)) : String(value);
  });
}
