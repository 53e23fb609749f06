import { CodedError, type CodedErrorOptions } from '../base/index.ts';

/**
 * - `closed`: the sink is permanently gone.
 * - `unreachable`: the connection failed or broke.
 * - `timeout`: no response within the limit.
 * - `throttled`: the sink asks for a slower rate.
 * - `failed`: the sink reported a temporary failure.
 * - `unauthorized`: the sink rejected the credentials.
 * - `misconfigured`: the address is not that of such a sink, or its certificate is not trusted.
 * - `too_large`: the batch exceeds a limit of the sink.
 * - `refused`: the sink rejects the content of the batch.
 * - `protocol_error`: the response violates the protocol.
 * - `unwritable`: the file cannot be written.
 */
export type DeliveryFailure =
  | 'closed'
  | 'unreachable'
  | 'timeout'
  | 'throttled'
  | 'failed'
  | 'unauthorized'
  | 'misconfigured'
  | 'too_large'
  | 'refused'
  | 'protocol_error'
  | 'unwritable';

/** Details of a {@link DeliveryError}. */
export interface DeliveryErrorOptions extends CodedErrorOptions {
  /** Wait requested by the sink. Milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** Status or code of the response, such as `400`. */
  readonly answer?: string | undefined;
  /** True when these records alone may be the reason: if the sink accepts others, they are refused. Default false. */
  readonly mayBeOfRecords?: boolean | undefined;
  /** True when the connection ended before the answer, which may be because the batch is too large. Default false. */
  readonly isCutOff?: boolean | undefined;
}

/** An error of the delivery to one sink. */
export class DeliveryError extends CodedError<DeliveryFailure> {
  override readonly name = 'DeliveryError';
  readonly retryAfterMs: number | undefined;
  readonly answer: string | undefined;
  readonly mayBeOfRecords: boolean;
  readonly isCutOff: boolean;

  constructor(code: DeliveryFailure, message: string, options: DeliveryErrorOptions) {
    super(code, message, options);
    this.retryAfterMs = options.retryAfterMs;
    this.answer = options.answer;
    this.mayBeOfRecords = options.mayBeOfRecords ?? false;
    this.isCutOff = options.isCutOff ?? false;
  }

  /** Says what failed in other words, with those of this error behind them. */
  reworded(what: string): DeliveryError {
    const { code, disposition, retryAfterMs, answer } = this;
    return new DeliveryError(code, what, { disposition, retryAfterMs, answer, cause: this });
  }
}
