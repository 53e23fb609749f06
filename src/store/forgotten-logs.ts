/**
 * Logs whose positions were removed while they may be being read. A read in progress has a position beyond the lost
 * lines; committing it would hide the loss.
 */
export class ForgottenLogs {
  readonly #logs = new Map<string, Set<string>>();
  /** Routers whose positions were read since all positions were lost. */
  #readSince: Set<string> | undefined;

  add(router: string, component: string): void {
    const components = this.#logs.get(router) ?? new Set();
    this.#logs.set(router, components.add(component));
  }

  addAll(): void {
    this.#readSince = new Set();
  }

  /** Records that the positions of a router were read: from here on its reads start from the stored state. */
  recordRead(router: string): void {
    this.#logs.delete(router);
    this.#readSince?.add(router);
  }

  /** Returns true if all positions were lost since those of the router were read. */
  hasAll(router: string): boolean {
    return this.#readSince !== undefined && !this.#readSince.has(router);
  }

  has(router: string, component: string): boolean {
    return this.hasAll(router) || (this.#logs.get(router)?.has(component) ?? false);
  }
}
