/**
 * Action for the caller of a failed step: `retry` later, `login-again` first, `skip` this item, write it to the dead letters
 * (`dead-letter`), `hold-back` until the other side accepts more, or wait for the `operator`, because only a change of settings helps.
 */
export type Disposition = 'retry' | 'login-again' | 'skip' | 'dead-letter' | 'hold-back' | 'operator';

/** Options of every {@link CodedError}. */
export interface CodedErrorOptions {
  /** Action for the caller. */
  readonly disposition: Disposition;
  /** One sentence for the operator: what to do. Absent if nothing. */
  readonly hint?: string | undefined;
  /** The error or value that caused this one: `Error.cause`. */
  readonly cause?: unknown;
}

/**
 * Base class of all coded errors; each module has at least one subclass. A message says, in sentence case, what was tried and why it failed, and
 * does not repeat its cause; {@link renderErrorChain} prints both.
 */
export abstract class CodedError<Code extends string> extends Error {
  /** One of the subclass's closed list of codes; also a label value of metrics. */
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

/** Bounds a printed chain in case a library builds a cycle. */
const CAUSES_MAX = 8;

/** Renders the messages of `error` and its causes on one line, followed by the first hint. Accepts any thrown value. */
export function renderErrorChain(error: unknown): string {
  const { reason, hint } = explainError(error);
  if (!hint) return reason;
  // Text from a device or server may be a sentence already.
  return /[.?!]$/.test(reason) ? `${reason} ${hint}` : `${reason}. ${hint}`;
}

/** Returns the parts of {@link renderErrorChain}: the messages on one line, and the first hint. */
export function explainError(error: unknown): { readonly reason: string; readonly hint: string | undefined } {
  const parts: string[] = [];
  let hint: string | undefined;
  let current: unknown = error;
  for (let depth = 0; depth < CAUSES_MAX && current !== undefined && current !== null; depth++) {
    parts.push(toMessage(current));
    if (current instanceof CodedError) hint ??= current.hint;
    current = current instanceof Error ? current.cause : undefined;
  }
  // A router or server may have sent part of the text.
  return { reason: parts.join(': ').replaceAll(/\p{Cc}+/gu, ' '), hint };
}

function toMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code: unknown = Reflect.get(error, 'code');
  const message = error.message || (typeof code === 'string' ? code : error.name);
  // Node.js reports a refused connection on several addresses as an AggregateError with an empty message.
  if (error instanceof AggregateError && error.errors.length > 0 && !error.message) {
    return error.errors.map(toMessage).join(', ');
  }
  return message;
}
