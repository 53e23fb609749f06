import type { LinkObservation } from '../link-rule.ts';
import { moveTimes } from '../position/move-times.ts';
import type { LogPosition } from '../position/position.ts';
import { Zone } from '../zone.ts';
import { noteUnrelated, shelveOpen } from './files.ts';
import { tellGaps, tellHeld } from './gaps.ts';
import { noteCurrent, noteEnd, noteFailure, noteLines } from './lines.ts';
import { admitFile } from './links.ts';
import { giveUpOverdue, noteUnlisted, resetLog } from './losses.ts';
import type { Observation, Told } from './observation.ts';
import { createDraft, type Draft, type LogState, type TrackerRules } from './state.ts';
import { listFresh, noteListed } from './waiting.ts';

/** What follows from an observation. */
export interface Step {
  readonly state: LogState;
  /** What has to become durable with the position, in order. */
  readonly told: readonly Told[];
  /** Whether the file that began may be read now. */
  readonly mayRead: boolean;
  /** What it shows of how files follow each other, for the facts of the router. */
  readonly evidence: readonly LinkObservation[];
}

/**
 * Takes one step: what was observed of a log changes where it stands. Pure, and the only writer of the position; making the
 * position durable together with what the step tells is the caller's.
 */
export function takeStep(state: LogState, observation: Observation, rules: TrackerRules): Step {
  const draft = createDraft(state, rules);
  const mayRead =
    observation.type !== 'file-began' || admitFile(draft, observation.firstWallAsUtcMs, observation.stamp);
  if (observation.type !== 'file-began') apply(draft, observation);
  const { position, seen, told, evidence } = draft;
  return { state: { position, seen }, told, mayRead, evidence };
}

function apply(draft: Draft, observation: Exclude<Observation, { readonly type: 'file-began' }>): void {
  switch (observation.type) {
    case 'listed':
      noteListed(draft, observation.listed);
      break;
    case 'unlisted':
      noteUnlisted(draft, observation.listed);
      break;
    case 'time-passed':
      giveUpOverdue(draft, observation.listed);
      break;
    case 'started':
      begin(draft, observation);
      break;
    case 'history-deferred':
      deferHistory(draft, observation);
      break;
    case 'file-unrelated':
      noteUnrelated(draft, observation.stamp, observation.firstWallAsUtcMs);
      break;
    case 'lines-read':
      noteLines(draft, observation.piece);
      break;
    case 'current-opened':
      noteCurrent(draft, observation.piece);
      break;
    case 'current-replaced':
      shelveOpen(draft);
      break;
    case 'file-ended':
      noteEnd(draft, observation);
      break;
    case 'file-failed':
    case 'file-unreadable':
      noteFailure(draft, observation);
      break;
    case 'held-released':
      tellHeld(draft);
      break;
    case 'wiped':
    case 'replaced':
      resetLog(draft, observation.type);
      break;
    case 'skipping-ended':
      draft.position.skipBeforeUtcMs = undefined;
      break;
    case 'zone-changed':
      Object.assign(draft.position, changeZone(draft, observation));
  }
}

function begin(draft: Draft, { skipped, skipBeforeUtcMs }: Extract<Observation, { readonly type: 'started' }>): void {
  const { position } = draft;
  position.skipBeforeUtcMs = skipBeforeUtcMs;
  position.completed = { ...position.completed, ...Object.fromEntries(skipped.map(({ stamp }) => [stamp, null])) };
  const last = skipped.at(-1);
  if (!last) return;
  tellGaps(draft, [
    { certainty: 'certain', reason: 'skipped', from: undefined, file: last.name, offset: 0, lines: undefined },
  ]);
}

/** What is left of the history is read behind the live log. */
function deferHistory(draft: Draft, { listed }: Extract<Observation, { readonly type: 'history-deferred' }>): void {
  noteListed(draft, listed);
  const { position } = draft;
  const { waiting } = position;
  const deferred = listFresh(position, listed).flatMap(({ stamp }) => {
    const entry = waiting[stamp];
    return entry ? [[stamp, { ...entry, isBackfill: true }] as const] : [];
  });
  position.waiting = { ...waiting, ...Object.fromEntries(deferred) };
  position.sequenceEnd = undefined;
  position.liveFrom = null;
}

function changeZone(
  { position, rules }: Draft,
  { from, to }: Extract<Observation, { readonly type: 'zone-changed' }>,
): LogPosition {
  return { ...moveTimes(position, Zone.parse(from), Zone.parse(to), rules.nowMs), zone: to };
}
