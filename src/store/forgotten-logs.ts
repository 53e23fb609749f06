/**
 * Logs whose positions were taken back while a turn of theirs may be under way. That turn knows a position behind the lines
 * that were lost; what it commits would hide the loss.
 */
export class ForgottenLogs {
  readonly #logs = new Map<string, Set<string>>();
  /** Routers whose positions were read since all of them were lost. */
  #readSince: Set<string> | undefined;

  add(router: string, component: string): void {
    const components = this.#logs.get(router) ?? new Set();
    this.#logs.set(router, components.add(component));
  }

  addAll(): void {
    this.#readSince = new Set();
  }

  /** The positions of a router were read: from here on it starts from what is known. */
  noteRead(router: string): void {
    this.#logs.delete(router);
    this.#readSince?.add(router);
  }

  has(router: string, component: string): boolean {
    const isLost = this.#readSince !== undefined && !this.#readSince.has(router);
    return isLost || (this.#logs.get(router)?.has(component) ?? false);
  }
}
