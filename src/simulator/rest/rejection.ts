/** One reason of a refusal: a parameter or a topic, and what is wrong with it. */
export interface RejectionReason {
  readonly key: string;
  readonly text: string;
}

/** The reason for a rejected request. A value, not an exception: rejecting is a normal answer. */
export class Rejection {
  readonly status: 400 | 401 | 403 | 404 | 405 | 413 | 416 | 429 | 500 | 503;
  readonly reasons: readonly RejectionReason[];

  constructor(status: Rejection['status'], reasons: readonly RejectionReason[]) {
    this.status = status;
    this.reasons = reasons;
  }

  /** Creates a rejection with one reason. */
  static of(status: Rejection['status'], key: string, text: string): Rejection {
    return new Rejection(status, [{ key, text }]);
  }

  /** Returns the interface's error body: a list of objects with one key. */
  toBody(): { readonly error: readonly Readonly<Record<string, string>>[] } {
    return { error: this.reasons.map(({ key, text }) => ({ [key]: text })) };
  }
}
