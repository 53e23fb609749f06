import { CodedError } from '../base/index.ts';

/** `closed`: the sink is gone for good. */
export type DeliveryFailure = 'closed';

/** What can go wrong between the spool and one sink. */
export class DeliveryError extends CodedError<DeliveryFailure> {
  override readonly name = 'DeliveryError';
}
