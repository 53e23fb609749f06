/** One reason of a refusal: a parameter or a topic, and what is wrong with it. */
export interface FaultReason {
  readonly key: string;
  readonly text: string;
}

/** The reason for a rejected request. A value, not an exception: rejecting is a normal answer. */
export class Fault {
  readonly status: 400 | 401 | 403 | 404 | 405 | 413 | 416 | 429 | 500 | 503;
  readonly reasons: readonly FaultReason[];

  constructor(status: Fault['status'], reasons: readonly FaultReason[]) {
    this.status = status;
    this.reasons = reasons;
  }

  /** Creates a rejection with one reason. */
  static of(status: Fault['status'], key: string, text: string): Fault {
    return new Fault(status, [{ key, text }]);
  }

  /** Returns the interface's error body: a list of objects with one key. */
  toBody(): { readonly error: readonly Readonly<Record<string, string>>[] } {
    return { error: this.reasons.map(({ key, text }) => ({ [key]: text })) };
  }
}
