import { CodedError, type CodedErrorOptions } from '../base/index.ts';

/** Details of a {@link SourceError}. */
export interface SourceErrorOptions extends CodedErrorOptions {
  /** The HTTP status of the answer, when there was one. */
  readonly status?: number | undefined;
  /** Wait that the router asks for. Milliseconds; `Infinity` for a date by a clock that is off. */
  readonly retryAfterMs?: number | undefined;
  /** True when it is certain that the router saw nothing of the request. Default false. */
  readonly isUnsent?: boolean | undefined;
  /** True when the router accepted the session and answered, so that only this one resource has failed. Default false. */
  readonly isAnswered?: boolean | undefined;
}

/** Error of a read from a router: the facts that callers may rely on, whatever the source. */
export class SourceError<Code extends string = string> extends CodedError<Code> {
  override readonly name: string = 'SourceError';
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly isUnsent: boolean;
  readonly isAnswered: boolean;
  constructor(code: Code, message: string, options: SourceErrorOptions) {
    super(code, message, options);
    this.status = options.status;
    this.retryAfterMs = options.retryAfterMs;
    this.isUnsent = options.isUnsent ?? false;
    this.isAnswered = options.isAnswered ?? false;
  }
}
