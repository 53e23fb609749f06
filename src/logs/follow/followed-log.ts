import type { RecordLines } from '../../model/index.ts';
import { type Gap, renderEvent } from '../position/event-records.ts';
import { createPosition, type LogFile, type LogPosition } from '../position/position.ts';
import { renderPosition } from '../position/position-text.ts';
import { isBusy } from '../reading/errors.ts';
import type { SeenTexts } from '../reading/file-reading.ts';
import { fromHeldEntry, RecordFrame, renderEntry } from '../records/entry.ts';
import type { LineEvent, RecordBatch } from '../records/record-batch.ts';
import { boundTimes } from '../step/files.ts';
import type { Observation, ReadPiece, Told } from '../step/observation.ts';
import { createLogState, type LogState, type View } from '../step/state.ts';
import { type Step, takeStep } from '../step/step.ts';
import { createSkewBounds } from '../time/log-clock.ts';
import { Zone } from '../time/zone.ts';
import type { FollowOptions, LogEvent } from './contracts.ts';
import type { FollowMemory, LogMemory } from './memory.ts';
import type { RouterEvidence } from './router-evidence.ts';
import {
  type DeviceCheck,
  noteGap,
  noteGapEnd,
  type PreparedStep,
  type RouterFacts,
  type StepStore,
} from './router-facts.ts';

/** A router that gives no file of a log for longer is not busy. Milliseconds. */
const BUSY_MS_MAX = 60 * 60_000;
/** A wall clock that was moved by less was corrected, and not set: that is less than what clocks drift between two looks. */
const CLOCK_SET_MS_MIN = 5000;

/** Lines of one file that were read and are not durable yet. */
export interface TakenLines {
  readonly batch: RecordBatch;
  readonly piece: ReadPiece;
  /** UTC of the newest line read of the file. */
  readonly newestUtcMs: number | undefined;
}

/** What the logs of one router share in one run. */
export interface RouterRun {
  readonly options: FollowOptions;
  readonly memory: FollowMemory;
  readonly facts: RouterFacts;
  readonly evidence: RouterEvidence;
  readonly store: StepStore;
  readonly device: DeviceCheck;
  /** Time of the first contact with the router, if it was not in this run. */
  readonly contactMs: number | undefined;
  /** True if another device than before answers under the name. */
  readonly isReplaced: boolean;
  /** True if the listing shows that the logs of this router were deleted. */
  readonly isWiped: boolean;
}

/** One log in one run: holds where it stands, and makes steps durable. */
export class FollowedLog {
  readonly run: RouterRun;
  readonly component: string;
  readonly memory: LogMemory;
  /** The agent's clock when the run began to read this log. */
  readonly observedMs: number;
  /** The same by the monotonic clock. */
  readonly beganMs: number;
  /** True if the agent's clock was set since the position was stored: where something waits, that has to be stored first. */
  readonly isClockSet: boolean;
  /** Bytes of lines read in this run, and those of lines about requests of this program among them. */
  readBytes = 0;
  ownBytes = 0;
  #state: LogState;

  /** `position`: where the log stood; `undefined` when it was never read. */
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
    this.#state = createLogState(bounded);
    if (!this.isClockSet) this.#noteWallClock();
  }

  get position(): LogPosition {
    return this.#state.position;
  }

  /** The log as it stands now, for questions about it. */
  get view(): View {
    const { component } = this;
    const { options, facts, evidence } = this.run;
    const { router, clock, isOnlyRun = false, pause } = options;
    const { zone } = evidence;
    const rules = { router: router.name, component, nowMs: clock.now(), zone, links: facts.links, isOnlyRun, pause };
    return { ...this.#state, rules };
  }

  /**
   * True if the router is busy, and the log is to wait as it is: what cannot be looked at is not missing. After an hour a file
   * that is always refused is one that cannot be read, so that it holds up nothing for ever.
   */
  isPutOff(cause: unknown): boolean {
    const { clock, isOnlyRun } = this.run.options;
    if (!isBusy(cause) || isOnlyRun) return false;
    const nowMs = clock.monotonic();
    this.memory.busySinceMs ??= nowMs;
    return nowMs - this.memory.busySinceMs < BUSY_MS_MAX;
  }

  /** The short bodies without a time that the logs of this router gave last; `undefined` if there is no later look that could tell more. */
  get texts(): SeenTexts | undefined {
    const { memory, options } = this.run;
    return options.isOnlyRun ? undefined : memory.textsOf(this.component);
  }

  /** Notes the entity tag of `current`, which was read up to `off`. */
  noteEtag(etag: string | undefined, off: number | undefined): void {
    Object.assign(this.memory, { etag, etagOff: off, etagListed: this.#state.seen.listed });
  }

  /** True if the entity tag that was stored last says whether there is more of a file: not after the listing has grown. */
  isEtagOf({ off }: LogFile): boolean {
    const { etagOff, etagListed } = this.memory;
    return off === etagOff && [...this.#state.seen.listed].every((stamp) => etagListed.has(stamp));
  }

  /** Takes a step in memory; what it tells has to be committed. */
  observe(observation: Observation): Step {
    const step = takeStep(this.#state, observation, this.view.rules);
    this.#state = step.state;
    this.run.evidence.noteLinks(this.component, step.evidence);
    return step;
  }

  /** Takes a step and makes it durable. */
  async record(observation: Observation, lines?: TakenLines): Promise<void> {
    await this.commit(this.observe(observation), lines);
  }

  /** Takes a step and makes it durable if it tells anything. */
  async recordIfTold(observation: Observation): Promise<void> {
    await this.commitIfTold(this.observe(observation));
  }

  /** Makes a step durable if it tells anything. */
  async commitIfTold(step: Step): Promise<void> {
    if (step.told.length > 0) await this.commit(step);
  }

  /** Makes what was observed so far durable. */
  async save(): Promise<void> {
    await this.commit({ told: [] });
  }

  /** Makes a step durable, then reports it. */
  async commit(step: Pick<Step, 'told'>, lines?: TakenLines): Promise<void> {
    await this.run.store.commit(this.prepare(step, lines));
    if (!lines) return;
    const { bytes, lines: count, own } = lines.batch;
    this.readBytes += bytes;
    this.memory.busySinceMs = undefined;
    if (own > 0) this.ownBytes += Math.round((bytes * own) / count);
  }

  /** Makes a step ready to be made durable. */
  prepare({ told }: Pick<Step, 'told'>, lines?: TakenLines): PreparedStep {
    const events = [...told.flatMap((one) => this.#toEvent(one) ?? []), ...this.#toReadEvents(lines)];
    for (const event of events) this.#remember(event);
    const report = () => {
      this.#noteWallClock();
      for (const event of events) this.run.options.report(event);
    };
    const { component } = this;
    const records = this.#render(told, lines?.batch.records ?? []);
    const position = renderPosition(this.position);
    return { commit: { router: this.run.options.router.name, component, position, lines: records }, report };
  }

  /** Places what was read before with the zone that is in use now. */
  alignTimes(): void {
    const { zone } = this.run.evidence;
    const { zone: text } = this.position;
    if (text === zone.text) return;
    const before = Zone.parse(text);
    this.observe({ type: 'zone-changed', from: before.text, to: zone.text });
    const nowMs = this.run.options.clock.now();
    // The bounds of the clock's lead held for times of the other zone.
    if (before.offsetAt(nowMs) !== zone.offsetAt(nowMs)) Object.assign(this.memory.skew, createSkewBounds());
  }

  /**
   * Returns by how much the agent's clock was set since the last run. What was learnt of the router's clock is forgotten then: it
   * would look like a jump of that one.
   */
  #findClockStep(): number {
    const { memory, observedMs, beganMs } = this;
    const offsetMs = observedMs - beganMs;
    const setByMs = offsetMs - (memory.wallOffsetMs ?? offsetMs);
    if (Math.abs(setByMs) < CLOCK_SET_MS_MIN) return 0;
    memory.forgetLook();
    return setByMs;
  }

  /** The times of the stored position are those of the clock as it is set now: there the next run begins. */
  #noteWallClock(): void {
    this.memory.wallOffsetMs = this.observedMs - this.beganMs;
  }

  /** Adds a gap to the facts about the router, which are stored with the step that tells of it. */
  #remember(event: LogEvent): void {
    const { facts } = this.run;
    if (event.type === 'log-gap-found') {
      const { type: _, ...gap } = event;
      facts.gaps = noteGap(facts.gaps ?? [], gap);
    } else if (event.type === 'log-gap-ended' && facts.gaps) facts.gaps = noteGapEnd(facts.gaps, event);
  }

  /** The records of what is told, with those of the lines among them. */
  #render(told: readonly Told[], records: RecordLines): RecordLines {
    const own = told.filter((one) => !(one.type === 'gap' && one.isInLines));
    if (own.length === 1 && own[0]?.type === 'lines') return records;
    return own.flatMap((one) => (one.type === 'lines' ? [...records] : [this.#renderTold(one)]));
  }

  #renderTold(told: Exclude<Told, { readonly type: 'lines' }>): string {
    const { component, observedMs } = this;
    const { router } = this.run.options;
    if (told.type !== 'held') return renderEvent({ router, component, file: `${component}/current`, observedMs }, told);
    return renderEntry(fromHeldEntry(told.held), new RecordFrame(router.name, component, router.labels));
  }

  #toEvent(told: Told): LogEvent | undefined {
    const { component } = this;
    switch (told.type) {
      case 'gap':
        return {
          type: 'log-gap-found',
          component,
          ...toGapFacts(told.gap),
          uid: told.uid,
          foundMs: this.run.options.clock.now(),
        };
      case 'gap-ended':
        return { type: 'log-gap-ended', component, gapUid: told.gap.uid, untilUtcMs: told.to.utcMs };
      case 'reset':
        return { type: 'log-reset', component, reason: told.reason };
      case 'held':
      case 'lines':
        return undefined;
    }
  }

  /** Gives a match of a log rule the labels of its series. */
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
