import { CodedError } from '../base/index.ts';

/**
 * - `unreachable`: no answer came: the address is wrong, or the connection failed or was too slow.
 * - `refused`: the server answered with another status than 200.
 * - `too_large`: the answer exceeds its limit.
 * - `invalid`: the answer is not a list of routers.
 */
type InventoryFailure = 'unreachable' | 'refused' | 'too_large' | 'invalid';

/** A source could not be read. The routers that it named before stay. */
export class InventoryError extends CodedError<InventoryFailure> {
  override readonly name = 'InventoryError';
}

/** Creates the error of one reading; the next one is due after the interval of the source. */
export function failReading(code: InventoryFailure, message: string, cause?: unknown, hint?: string): InventoryError {
  return new InventoryError(code, message, { disposition: 'retry', cause, hint });
}
