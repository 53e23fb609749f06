/**
 * What the caller of a failed step should do:
 * `retry` the same later, `login-again` first, `skip` this item, put it in the `dead-letter`s, `hold-back` until the
 * other side has room again, or wait for the `operator`, because nothing but a change of settings helps.
 */
export type Disposition = 'retry' | 'login-again' | 'skip' | 'dead-letter' | 'hold-back' | 'operator';

/** What every error of the product carries beside its message. */
export interface CodedErrorOptions {
  /** What the caller should do. */
  readonly disposition: Disposition;
  /** One sentence that tells an operator what to do, if there is something to do. */
  readonly hint?: string | undefined;
  readonly cause?: unknown;
}

/**
 * Base of the one error class that a room has. A message says what was tried and what stood in the way, in sentence
 * case, and does not repeat its cause; {@link renderErrorChain} prints both.
 */
export abstract class CodedError<Code extends string> extends Error {
  /** From a closed list of the room; also a label value in metrics. */
  readonly code: Code;
  readonly disposition: Disposition;
  readonly hint: string | undefined;
  constructor(code: Code, message: string, options: CodedErrorOptions) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.disposition = options.disposition;
    this.hint = options.hint;
  }
}

/** Bounds the chain that is printed, should a library ever build a cycle. */
const CAUSES_MAX = 8;

/** The message of `error` and of its causes on one line, then the first hint. Takes anything that can be thrown. */
export function renderErrorChain(error: unknown): string {
  const { reason, hint } = explainError(error);
  if (!hint) return reason;
  // What a device or a server said last may be a sentence already.
  return /[.?!]$/.test(reason) ? `${reason} ${hint}` : `${reason}. ${hint}`;
}

/** What {@link renderErrorChain} puts together: the messages on one line, and the first hint. */
export function explainError(error: unknown): { readonly reason: string; readonly hint: string | undefined } {
  const parts: string[] = [];
  let hint: string | undefined;
  let current: unknown = error;
  for (let depth = 0; depth < CAUSES_MAX && current !== undefined && current !== null; depth++) {
    parts.push(toMessage(current));
    if (current instanceof CodedError) hint ??= current.hint;
    current = current instanceof Error ? current.cause : undefined;
  }
  return { reason: parts.join(': '), hint };
}

function toMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code: unknown = Reflect.get(error, 'code');
  const message = error.message || (typeof code === 'string' ? code : error.name);
  // Node reports a refused connection on several addresses as an AggregateError whose own message is empty.
  if (error instanceof AggregateError && error.errors.length > 0 && !error.message) {
    return error.errors.map(toMessage).join(', ');
  }
  return message;
}
