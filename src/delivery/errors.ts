import { CodedError, type CodedErrorOptions } from '../base/index.ts';

/**
 * - `closed`: the sink is gone for good.
 * - `unreachable`: no connection, or it broke.
 * - `timeout`: no answer within the limit.
 * - `throttled`: the sink asks for patience.
 * - `failed`: the sink answered that it cannot now.
 * - `unauthorized`: it does not accept the credentials.
 * - `misconfigured`: whatever answers there is no such sink, or its certificate is not to be trusted.
 * - `too_large`: the batch is above a bound of the sink.
 * - `refused`: the sink does not accept what is in the batch.
 * - `protocol_error`: its answer breaks the protocol.
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

export interface DeliveryErrorOptions extends CodedErrorOptions {
  /** Wait requested by the sink. Milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** Status or code of the response, such as `400`. */
  readonly answer?: string | undefined;
}

/** What can go wrong between the spool and one sink. */
export class DeliveryError extends CodedError<DeliveryFailure> {
  override readonly name = 'DeliveryError';
  readonly retryAfterMs: number | undefined;
  readonly answer: string | undefined;

  constructor(code: DeliveryFailure, message: string, options: DeliveryErrorOptions) {
    super(code, message, options);
    this.retryAfterMs = options.retryAfterMs;
    this.answer = options.answer;
  }
}
