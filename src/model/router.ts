import { CodedError, type CodedErrorOptions } from '../base/index.ts';
import type { Labels } from './sample.ts';

/** Identity of a router. Its address may change, so it is not part of it. */
export interface RouterIdentity {
  /** Unique configured name: label `router`. */
  readonly name: string;
  readonly labels: Labels;
}

/** `maintenance`: polled as usual, without alerts; `paused`: not polled for a while; `retired`: not polled any more, no series. */
export const LIFECYCLE_STATES = ['active', 'maintenance', 'paused', 'retired'] as const;
/** One of {@link LIFECYCLE_STATES}. */
export type LifecycleState = (typeof LIFECYCLE_STATES)[number];

/** A life-cycle state with its end. */
export interface LifecycleWish {
  readonly state: LifecycleState;
  /** End as wall time, milliseconds since the Unix epoch; `undefined`: no end. */
  readonly untilMs?: number | undefined;
}

/** A time in which a router was not polled. Wall time, milliseconds since the Unix epoch. */
export interface LifecyclePause {
  readonly fromMs: number;
  /** `undefined` while it lasts. */
  readonly toMs?: number | undefined;
}

/** Options of a {@link RouterReadError}. */
export interface RouterReadErrorOptions extends CodedErrorOptions {
  /** HTTP status of the response, if any. */
  readonly status?: number | undefined;
  /** Wait that the router requests (Retry-After). Milliseconds; `Infinity` for a date by a clock that is wrong. */
  readonly retryAfterMs?: number | undefined;
  /** True if the request certainly did not reach the router. Default false. */
  readonly isUnsent?: boolean | undefined;
  /** True if the router accepted the session and answered, so that only this resource has failed. Default false. */
  readonly isAnswered?: boolean | undefined;
}

/** Error of a request to a router. */
export class RouterReadError<Code extends string = string> extends CodedError<Code> {
  override readonly name: string = 'RouterReadError';
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly isUnsent: boolean;
  readonly isAnswered: boolean;
  constructor(code: Code, message: string, options: RouterReadErrorOptions) {
    super(code, message, options);
    this.status = options.status;
    this.retryAfterMs = options.retryAfterMs;
    this.isUnsent = options.isUnsent ?? false;
    this.isAnswered = options.isAnswered ?? false;
  }
}
