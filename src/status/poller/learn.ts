import { readDevice, readSerialNumber, readSystemHash } from '../known-fields.ts';
import type { Refusal, TargetReading } from './ask.ts';
import { findLife, isForRouter } from './due.ts';
import { DEVICE_INFO, type PollTarget } from './poll-plan.ts';
import { type Answer, ASK_AGAIN_MS, type Lack, NO_ROWS, type Poll, type PollState } from './poll-state.ts';

/** Status resource with the hash of the configuration. */
export const SYSTEM = 'sysdetail/system';

interface AnswerContext {
  /** True if the deadline of the poll has passed. */
  readonly isLate: boolean;
  /** Wall time of monotonic zero. Milliseconds. */
  readonly offsetMs: number;
}

/** Updates the state with the reading of a target. */
export function learn(
  state: PollState,
  poll: Poll,
  target: PollTarget,
  given: TargetReading,
  { isLate, offsetMs }: AnswerContext,
): void {
  const { startedMs } = poll;
  const isUnconfirmed = given.state === 'unsupported' && awaitConfirmation(state, target, given.readAtMs);
  const reading: TargetReading = isUnconfirmed ? { ...given, state: 'failed' } : given;
  const { document, held, tables, isFromMemory, isUnsure, isAnswered, isPutOff, code, ...shown } = reading;
  const { name, modules, isOptional } = target;
  const staleAfterMs = findLife(target, poll);
  poll.resources.push({ ...shown, name, modules, isOptional, staleAfterMs });
  poll.isOver = isPutOff;
  const setback = { code: isLate ? 'timeout' : code, error: reading.error };
  if (reading.state === 'failed') {
    poll.failure ??= setback;
    // A slow resource may be an exception; an unavailable router fails for all resources.
    const isGone = !isAnswered && (code !== 'timeout' || isLate);
    poll.isOver ||= isGone;
    if (isGone) {
      state.gone.add(target);
      return;
    }
    state.outdated.delete(target);
    state.lastMs.set(target, startedMs);
    state.failures.set(target, state.failures.get(target) + 1);
    return;
  }
  state.outdated.delete(target);
  state.gone.delete(target);
  state.held.set(target, held);
  learnTime(state, target, startedMs, offsetMs);
  if (reading.state === 'read') {
    poll.isUp ||= !isFromMemory;
    if (tables) learnRows(state, target, tables);
    state.readAtMs.set(target, reading.readAtMs);
    state.lifeMs.set(target, staleAfterMs);
    learnAnswer(state, target, undefined, reading.readAtMs);
    if (!reading.isUnchanged) learnDocument(state, target, document);
    return;
  }
  poll.refusal ??= setback;
  // Rows of a resource that the router does not have, or no longer returns, are removed.
  learnRows(state, target, NO_ROWS.tables);
  if (target.path === SYSTEM) state.configHash = undefined;
  state.readAtMs.set(target, Infinity);
  if (reading.state === 'forbidden' && isUnsure) poll.unsure.add(target);
  else learnAnswer(state, target, reading.state, reading.readAtMs);
}

/** Updates the state at the end of a poll. */
export function learnEnd(state: PollState, poll: Poll): void {
  state.leftOver = poll.leftOver;
  // If another resource was read, these resources were refused; otherwise the account was.
  if (poll.isUp) for (const target of poll.unsure) learnAnswer(state, target, 'forbidden', poll.startedMs);
  else {
    const names = new Set([...poll.unsure].map(({ name }) => name));
    poll.resources = poll.resources.map((one) => (names.has(one.name) ? { ...one, state: 'failed' } : one));
  }
  if (poll.asked.size === 0) return;
  state.isUp = poll.isUp;
  if (!poll.isUp) renewIdentity(state);
}

/** Makes the targets of an aborted poll due again: its values were discarded. */
export function forgetPoll(state: PollState, { asked }: Poll): void {
  for (const target of asked) forgetReading(state, target);
}

/** Makes the identity due at once, also in a poll in progress: after a new login the router may be a different one. */
export function renewIdentity({ plan, outdated }: PollState): void {
  for (const target of plan.targets) if (target.isIdentity) outdated.add(target);
}

/** Lists the resources that the router does not have; for a path with a star the path itself, if none of its slots exists. */
export function listLacks(state: PollState): readonly Lack[] {
  const { targets, patterns, byPath } = state.plan;
  const isLacking = (target: PollTarget | undefined) => target && state.answers.get(target) === 'unsupported';
  state.lacks ??= [
    ...targets.filter((target) => target.isNamed && isLacking(target)),
    ...patterns.filter(({ paths }) => paths.every((path) => isLacking(byPath.get(path)))),
  ];
  return state.lacks;
}

/**
 * Consecutive refusals before a resource that the router has returned counts as missing, and the wait after the first one, which doubles:
 * one hour in all. A router that starts answers for a while as if its cards were missing.
 */
const UNCONFIRMED_MAX = 7;
const CONFIRMATION_WAIT_MS = 30_000;

/** Returns true if a refusal is not confirmed yet, because the target was read before. */
function awaitConfirmation(state: PollState, target: PollTarget, nowMs: number): boolean {
  const unconfirmed = state.unconfirmed.get(target) ?? 0;
  if (state.answers.get(target) !== 'readable' || unconfirmed >= UNCONFIRMED_MAX) return false;
  state.untilMs.set(target, nowMs + CONFIRMATION_WAIT_MS * 2 ** unconfirmed);
  state.unconfirmed.set(target, unconfirmed + 1);
  return true;
}

/** Records whether a target exists for this account. */
function learnAnswer(state: PollState, target: PollTarget, refusal: Refusal | undefined, nowMs: number): void {
  const known = state.answers.get(target);
  const isRefused = known === 'unsupported' || known === 'forbidden';
  if (refusal || isRefused) state.revision++;
  if (known === 'unsupported' || refusal === 'unsupported') state.lacks = undefined;
  setAnswer(state, target, refusal ?? 'readable', refusal ? nowMs + ASK_AGAIN_MS[refusal] : 0);
}

function setAnswer(state: PollState, target: PollTarget, answer: Answer | undefined, untilMs: number): void {
  state.answers.set(target, answer);
  state.untilMs.set(target, untilMs);
  state.unconfirmed.delete(target);
}

/**
 * Records that a target was read. The first reading after a restart counts as the last one of its phase, so that a fleet started at once
 * does not read its slow modules in the same minute ever after.
 */
function learnTime(state: PollState, target: PollTarget, startedMs: number, offsetMs: number): void {
  const isFirst = state.lastMs.get(target) === -Infinity;
  state.lastMs.set(target, startedMs);
  state.failures.set(target, 0);
  const { intervalMs } = target;
  const { tickMs } = state.plan;
  if (intervalMs <= tickMs) return;
  const phaseMs = modulo(startedMs + offsetMs, intervalMs);
  const known = state.phaseMs.get(target);
  if (!Number.isNaN(known)) {
    const shiftMs = modulo(phaseMs - known, intervalMs);
    if (isFirst) state.lastMs.set(target, startedMs - shiftMs);
    // Polls come early or late by less than a tick.
    if (isFirst || Math.min(shiftMs, intervalMs - shiftMs) <= tickMs) return;
  }
  state.phaseMs.set(target, phaseMs);
  state.revision++;
}

function modulo(value: number, divisor: number): number {
  return ((value % divisor) + divisor) % divisor;
}

/** Replaces the rows of a target. An empty answer after an empty one is not a change. */
function learnRows(state: PollState, target: PollTarget, tables: typeof NO_ROWS.tables): void {
  const known = state.rows?.get(target) ?? NO_ROWS;
  if (tables.size === 0 && known.tables.size === 0) return;
  state.rows ??= new Map();
  state.rows.set(target, { tables, version: known.version + 1 });
}

/** Records the facts that the poller itself uses. */
function learnDocument(state: PollState, { path }: PollTarget, document: unknown): void {
  if (path === SYSTEM) state.configHash = readSystemHash(document);
  if (path !== DEVICE_INFO) return;
  const { plan, remembered } = state;
  const device = readDevice(document);
  const [firmware = remembered.firmware, serial = remembered.serial] = [device.firmware, readSerialNumber(document)];
  state.device = device;
  state.firmware = device.firmware ?? state.firmware;
  state.serial = readSerialNumber(document) ?? state.serial;
  state.remembered = { firmware, serial };
  if (firmware !== remembered.firmware || serial !== remembered.serial) state.revision++;
  const isOther =
    (remembered.firmware !== undefined && firmware !== remembered.firmware) ||
    (remembered.serial !== undefined && serial !== remembered.serial);
  if (isOther) for (const target of plan.targets) resetAnswer(state, target);
  for (const target of plan.targets) {
    if (isForRouter(state, target)) continue;
    forgetReading(state, target);
    state.gone.delete(target);
    state.readAtMs.set(target, Infinity);
  }
}

/** The router may be a different one. */
function resetAnswer(state: PollState, target: PollTarget): void {
  const answer = state.answers.get(target);
  state.lacks = undefined;
  state.revision++;
  if (answer === 'readable') setAnswer(state, target, 'readable-before', 0);
  else if (answer === 'unsupported' || answer === 'forbidden') {
    setAnswer(state, target, undefined, 0);
    makeDue(state, target);
  }
}

function forgetReading(state: PollState, target: PollTarget): void {
  makeDue(state, target);
  state.held.set(target, undefined);
}

function makeDue({ lastMs, failures }: PollState, target: PollTarget): void {
  lastMs.set(target, -Infinity);
  failures.set(target, 0);
}
