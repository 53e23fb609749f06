import type { Logger } from '../../base/index.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Lines of the agent's own log about one router. */
export class RouterLog {
  readonly #logger: Logger;
  readonly #router: string;
  /** Current failures, so that each is logged once and not in every run. */
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
