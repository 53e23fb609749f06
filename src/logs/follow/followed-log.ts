import type { LogCommit, RecordLines } from '../../model/index.ts';
import type { Gap } from '../position/gap.ts';
import { createPosition, type LogFile, type LogPosition, renderPosition } from '../position/position.ts';
import { isBusy } from '../reading/errors.ts';
import type { SeenTexts } from '../reading/file-reading.ts';
import { renderEvent, toEventUid } from '../records/event-records.ts';
import { fromHeldEntry, type LineEvent, type RecordBatch, RecordFrame, renderEntry } from '../records/record-batch.ts';
import { boundTimes } from '../step/files.ts';
import {
  createStepState,
  type Emitted,
  type Observation,
  type ReadPiece,
  type StepState,
  type View,
} from '../step/state.ts';
import { type Step, takeStep } from '../step/step.ts';
import { createSkewBounds } from '../time/log-clock.ts';
import { Zone } from '../time/zone.ts';
import type { FollowOptions, LogEvent } from './contracts.ts';
import type { FollowMemory, LogMemory } from './memory.ts';
import {
  addKnownGap,
  type DeviceCheck,
  endKnownGap,
  type RouterEvidence,
  type RouterFacts,
  renderRouterFacts,
} from './router-facts.ts';

/** After this time of 429 or 503 responses for a file, the file counts as unreadable. Milliseconds. */
const BUSY_MS_MAX = 60 * 60_000;
/** Smaller steps of the wall clock are corrections: clocks drift less than this between two runs. Milliseconds. */
const CLOCK_SET_MS_MIN = 5000;

/** Lines of one file that are not durable yet. */
export interface TakenLines {
  readonly batch: RecordBatch;
  readonly piece: ReadPiece;
  readonly newestUtcMs: number | undefined;
}

/** A step of one log ready to commit. `report` reports its events and is called after the commit. */
export interface PreparedStep {
  readonly commit: LogCommit;
  readonly report: () => void;
}

/** Commits the steps of a run together with the facts: a crash keeps all of a commit or nothing. */
export class StepStore {
  readonly #options: FollowOptions;
  readonly #facts: RouterFacts;
  #storedFacts: string | undefined;
  #hasFailed = false;
  readonly #underWay = new Set<Promise<void>>();

  constructor(options: FollowOptions, facts: RouterFacts, storedFacts: string | undefined) {
    this.#options = options;
    this.#facts = facts;
    this.#storedFacts = storedFacts;
  }

  async commit(...steps: readonly PreparedStep[]): Promise<void> {
    const { router, onStoring } = this.#options;
    const text = renderRouterFacts(this.#facts);
    const isLearnt = text !== this.#storedFacts;
    if (!isLearnt && steps.length === 0) return;
    const commits = steps.map(({ commit }) => commit);
    const onStored = commits.map(({ lines }) => onStoring?.(lines));
    const storing = this.#store(...commits, ...(isLearnt ? [{ router: router.name, facts: text }] : []));
    this.#underWay.add(storing);
    try {
      await storing;
    } catch (cause) {
      // A later commit that succeeds does not bring these records back.
      this.#hasFailed = true;
      throw cause;
    } finally {
      this.#underWay.delete(storing);
    }
    this.#storedFacts = text;
    for (const notify of onStored) notify?.();
    for (const { report } of steps) report();
  }

  /** Calls the store synchronously: the memory of the records is valid during this call. */
  async #store(...commits: Parameters<FollowOptions['records']['commit']>): Promise<void> {
    await this.#options.records.commit(...commits);
  }

  /** Resolves when no commit is in flight. The next run must find the final positions. */
  async settle(): Promise<void> {
    await Promise.allSettled(this.#underWay);
  }

  /** True if memory is ahead of the store, so that the run must end without another commit. */
  get hasLostCommit(): boolean {
    return this.#hasFailed || this.#underWay.size > 0;
  }
}

/** State shared by the logs of one router in one run. */
export interface RouterRun {
  readonly options: FollowOptions;
  readonly memory: FollowMemory;
  readonly facts: RouterFacts;
  readonly evidence: RouterEvidence;
  readonly store: StepStore;
  readonly device: DeviceCheck;
  /** Time of the first contact; `undefined` if that is this run. */
  readonly contactMs: number | undefined;
  /** True if another device answers under this name. */
  readonly isReplaced: boolean;
  /** True if the listing shows that the logs were deleted. */
  readonly isWiped: boolean;
}

/** One log in one run: holds its position and commits its steps. */
export class FollowedLog {
  readonly run: RouterRun;
  readonly component: string;
  readonly memory: LogMemory;
  /** Wall clock at the start of this log's run. Milliseconds since the Unix epoch. */
  readonly observedMs: number;
  /** Monotonic clock at the same moment. Milliseconds. */
  readonly beganMs: number;
  /** True if the agent's clock was set since the last commit. The corrected times must be stored first. */
  readonly isClockSet: boolean;
  /** Bytes of lines read in this run; `ownBytes`: of lines about requests of this program. */
  readBytes = 0;
  ownBytes = 0;
  #state: StepState;

  constructor(run: RouterRun, component: string, position: LogPosition | undefined) {
    const { memory, options, evidence } = run;
    this.run = run;
    this.component = component;
    this.memory = memory.of(component);
    this.observedMs = options.clock.now();
    this.beganMs = options.clock.monotonic();
    const known = position ?? createPosition(evidence.zone.text);
    const bounded = boundTimes(known, this.observedMs, this.#findClockStep());
    this.isClockSet = bounded !== known;
    this.#state = createStepState(bounded);
    if (!this.isClockSet) this.#recordWallClock();
  }

  get position(): LogPosition {
    return this.#state.position;
  }

  get view(): View {
    const { component } = this;
    const { options, facts, evidence } = this.run;
    const { router, clock, isOnlyRun = false, pause } = options;
    const { zone } = evidence;
    const rules = { router: router.name, component, nowMs: clock.now(), zone, links: facts.links, isOnlyRun, pause };
    return { ...this.#state, rules };
  }

  /** True if the router is busy, so a file that it refuses does not count as missing. False after an hour of refusals. */
  isRouterBusy(cause: unknown): boolean {
    const { clock, isOnlyRun } = this.run.options;
    if (!isBusy(cause) || isOnlyRun) return false;
    const nowMs = clock.monotonic();
    this.memory.busySinceMs ??= nowMs;
    return nowMs - this.memory.busySinceMs < BUSY_MS_MAX;
  }

  /** Short bodies without a time stamp in the logs of this router; `undefined` in an only run. */
  get texts(): SeenTexts | undefined {
    const { memory, options } = this.run;
    return options.isOnlyRun ? undefined : memory.textsOf(this.component);
  }

  rememberEtag(etag: string | undefined, off: number | undefined): void {
    Object.assign(this.memory, { etag, etagOff: off, etagListed: this.#state.seen.listed });
  }

  /** True if the stored entity tag is valid for this file. It is not once the listing has grown. */
  isEtagOf({ off }: LogFile): boolean {
    const { etagOff, etagListed } = this.memory;
    return off === etagOff && [...this.#state.seen.listed].every((stamp) => etagListed.has(stamp));
  }

  /** Applies a step in memory. The caller must commit what it emits. */
  observe(observation: Observation): Step {
    const step = takeStep(this.#state, observation, this.view.rules);
    this.#state = step.state;
    this.run.evidence.recordLinks(this.component, step.evidence);
    return step;
  }

  async record(observation: Observation, lines?: TakenLines): Promise<void> {
    await this.commit(this.observe(observation), lines);
  }

  async recordIfEmitted(observation: Observation): Promise<void> {
    await this.commitIfEmitted(this.observe(observation));
  }

  async commitIfEmitted(step: Step): Promise<void> {
    if (step.emitted.length > 0) await this.commit(step);
  }

  async save(): Promise<void> {
    await this.commit({ emitted: [] });
  }

  async commit(step: Pick<Step, 'emitted'>, lines?: TakenLines): Promise<void> {
    await this.run.store.commit(this.prepare(step, lines));
    if (!lines) return;
    const { bytes, lines: count, own } = lines.batch;
    this.readBytes += bytes;
    this.memory.busySinceMs = undefined;
    if (own > 0) this.ownBytes += Math.round((bytes * own) / count);
  }

  prepare({ emitted }: Pick<Step, 'emitted'>, lines?: TakenLines): PreparedStep {
    const events = [...emitted.flatMap((one) => this.#toEvent(one) ?? []), ...this.#toReadEvents(lines)];
    for (const event of events) this.#remember(event);
    const report = () => {
      this.#recordWallClock();
      for (const event of events) this.run.options.report(event);
    };
    const { component } = this;
    const records = this.#render(emitted, lines?.batch.records ?? []);
    const position = renderPosition(this.position);
    return { commit: { router: this.run.options.router.name, component, position, lines: records }, report };
  }

  /** Converts the times of the position to the zone in use. */
  alignTimes(): void {
    const { zone } = this.run.evidence;
    const { zone: text } = this.position;
    if (text === zone.text) return;
    const before = Zone.parse(text);
    this.observe({ type: 'zone-changed', from: before.text, to: zone.text });
    const nowMs = this.run.options.clock.now();
    // The bounds of the clock skew were for times of the other zone.
    if (before.offsetAt(nowMs) !== zone.offsetAt(nowMs)) Object.assign(this.memory.skew, createSkewBounds());
  }

  /** Returns by how much the agent's clock was set, or 0. If it was set, facts about the router's clock are dropped. Milliseconds. */
  #findClockStep(): number {
    const { memory, observedMs, beganMs } = this;
    const offsetMs = observedMs - beganMs;
    const setByMs = offsetMs - (memory.wallOffsetMs ?? offsetMs);
    if (Math.abs(setByMs) < CLOCK_SET_MS_MIN) return 0;
    memory.forgetRead();
    return setByMs;
  }

  /** Remembers the clock that belongs to the stored position. */
  #recordWallClock(): void {
    this.memory.wallOffsetMs = this.observedMs - this.beganMs;
  }

  #remember(event: LogEvent): void {
    const { facts } = this.run;
    if (event.type === 'log-gap-found') {
      const { type: _, ...gap } = event;
      facts.gaps = addKnownGap(facts.gaps ?? [], gap);
    } else if (event.type === 'log-gap-ended' && facts.gaps) facts.gaps = endKnownGap(facts.gaps, event);
  }

  #render(emitted: readonly Emitted[], records: RecordLines): RecordLines {
    const own = emitted.filter((one) => !(one.type === 'gap' && one.isInLines));
    if (own.length === 1 && own[0]?.type === 'lines') return records;
    return own.flatMap((one) => (one.type === 'lines' ? [...records] : [this.#renderEmitted(one)]));
  }

  #renderEmitted(emitted: Exclude<Emitted, { readonly type: 'lines' }>): string {
    const { component, observedMs } = this;
    const { router } = this.run.options;
    if (emitted.type !== 'held')
      return renderEvent({ router, component, file: `${component}/current`, observedMs }, emitted);
    return renderEntry(fromHeldEntry(emitted.held), new RecordFrame(router.name, component, router.labels));
  }

  #toEvent(emitted: Emitted): LogEvent | undefined {
    const { component } = this;
    const { router, clock } = this.run.options;
    if (emitted.type === 'held' || emitted.type === 'lines') return undefined;
    const of = { component, uid: toEventUid(router.name, component, emitted) };
    switch (emitted.type) {
      case 'gap':
        return { type: 'log-gap-found', ...of, ...toGapFacts(emitted.gap), foundMs: clock.now() };
      case 'gap-ended':
        return { type: 'log-gap-ended', ...of, gapUid: emitted.gap.uid, untilUtcMs: emitted.to.utcMs };
      case 'reset':
        return { type: 'log-reset', ...of, reason: emitted.reason };
    }
  }

  #placeMatch(event: LineEvent): LineEvent {
    if (event.type !== 'log-rule-matched') return event;
    const { memory, options } = this.run;
    return { ...event, labels: memory.seriesOf(options.matcher).place(event) };
  }

  #toReadEvents(read: TakenLines | undefined): LogEvent[] {
    if (!read) return [];
    const { lines, bytes, unparsed, own, nulBytes } = read.batch;
    const events = read.batch.events.map((event) => this.#placeMatch(event));
    if (lines === 0) return events;
    const { component } = this;
    const { newestUtcMs } = read;
    return [...events, { type: 'log-read', component, lines, bytes, unparsed, own, nulBytes, newestUtcMs }];
  }
}

function toGapFacts({ certainty, reason, bytesMin, to }: Gap) {
  return { certainty, reason, bytesMin, untilUtcMs: to?.utcMs };
}
