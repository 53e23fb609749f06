import type { HeldEntry } from '../entry.ts';
import { type ClockState, createClockState } from '../log-clock.ts';
import type { DateOrder } from '../stamp.ts';

/** What the next line of a log needs to know of the ones before it, over the edges of files. */
export interface StreamState {
  /** The last record, when the log is known to have lines that continue others: the next line may continue it. */
  readonly held: HeldEntry | undefined;
  /** Whether a line that continues another was ever seen. */
  readonly joins: boolean;
  /** Uid of the last line with a time. */
  readonly lastUid: string | undefined;
  readonly clock: Readonly<ClockState>;
  /** Learnt from the lines, when their dates could be read in two ways. */
  readonly order: DateOrder | undefined;
  /** Whether the log was ever seen to end within a line or a block: its lines reach the file long after they were written. */
  readonly isBuffered: boolean;
}

/** The state of a log of which nothing was read. */
export function createStreamState(): StreamState {
  return {
    held: undefined,
    joins: false,
    lastUid: undefined,
    clock: createClockState(),
    order: undefined,
    isBuffered: false,
  };
}

/** A stream state that a reading changes line by line. */
export type StreamDraft = { -readonly [Key in keyof Omit<StreamState, 'clock'>]: StreamState[Key] } & {
  readonly clock: ClockState;
};

/** Returns a copy that can change without changing `state`. */
export function copyStreamState(state: StreamState): StreamDraft {
  return { ...state, clock: { ...state.clock } };
}
