import { vi } from 'vitest';

/** Resolves with what `check` returns once it no longer throws; rejects when it never does, also on a busy machine. */
export function waitFor<T>(check: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(check, { timeout: 20_000, interval: 10 });
}
