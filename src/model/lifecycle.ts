/**
 * Life-cycle states of a router: `active`; `maintenance`: read as usual, but nobody is to be alarmed; `paused`: not asked at
 * all for a while; `retired`: not asked any more, without series.
 */
export const LIFECYCLE_STATES = ['active', 'maintenance', 'paused', 'retired'] as const;
/** One of {@link LIFECYCLE_STATES}. */
export type LifecycleState = (typeof LIFECYCLE_STATES)[number];

/** A state with its end. */
export interface LifecycleWish {
  readonly state: LifecycleState;
  /** Wall time from which on it does not hold any more, milliseconds since the Unix epoch; `undefined`: it has no end. */
  readonly untilMs: number | undefined;
}

/** A time in which a router was not asked. Wall time, milliseconds since the Unix epoch. */
export interface LifecyclePause {
  readonly fromMs: number;
  /** `undefined` while it lasts. */
  readonly toMs?: number | undefined;
}
