import type { Logger } from '../../base/index.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What the agent's own log says of one router. */
export class RouterLog {
  readonly #logger: Logger;
  readonly #router: string;
  /** What is failing now, so that the log says it once and not at every turn. */
  readonly #failing = new Set<string>();

  constructor(logger: Logger, router: string) {
    this.#logger = logger;
    this.#router = router;
  }

  write(level: keyof Logger, message: string, fields: Fields = {}): void {
    this.#logger[level](message, { router: this.#router, ...fields });
  }

  /** A warning when `what` was well before; at level debug as long as it is failing. */
  fail(what: string, message: string, fields: Fields): void {
    this.write(this.#failing.has(what) ? 'debug' : 'warn', message, fields);
    this.#failing.add(what);
  }

  /** `what` is well again. Says nothing. */
  mend(what: string): void {
    this.#failing.delete(what);
  }
}
