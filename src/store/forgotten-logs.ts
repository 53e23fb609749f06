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

  has(router: string, component: string): boolean {
    const isLost = this.#readSince !== undefined && !this.#readSince.has(router);
    return isLost || (this.#logs.get(router)?.has(component) ?? false);
  }
}
