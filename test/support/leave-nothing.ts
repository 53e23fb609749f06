import { setImmediate } from 'node:timers/promises';
import { afterAll, expect, vi } from 'vitest';

/** Until what a file has closed is gone, on a busy machine. */
const QUIET_MS_MAX = 10_000;

/** What files of tests that run in one process would notice of each other. */
function look() {
  const listeners = process.eventNames().map((name) => [String(name), process.listenerCount(name)] as const);
  return {
    folder: process.cwd(),
    environment: { ...process.env },
    hasFakeTimers: vi.isFakeTimers(),
    listeners: Object.fromEntries(listeners),
    // They are opened when they are first asked for, also by an import of `node:process`.
    streams: [process.stdin.fd, process.stdout.fd, process.stderr.fd],
  };
}

/** Kinds of sockets, timers, child processes and the like that are open now and were not `before`. */
function findOpened(before: readonly string[]): readonly string[] {
  const opened = process.getActiveResourcesInfo();
  for (const kind of before) {
    const index = opened.indexOf(kind);
    if (index !== -1) opened.splice(index, 1);
  }
  return opened;
}

const before = look();
const openBefore = process.getActiveResourcesInfo();

// Runs last: whatever a file starts and changes it also ends and restores, or fails itself and no other one.
afterAll(async () => {
  const startedMs = performance.now();
  while (findOpened(openBefore).length > 0 && performance.now() - startedMs < QUIET_MS_MAX) await setImmediate();
  const after = { ...look(), left: findOpened(openBefore) };
  expect(after, 'what this file leaves to the next one in its process').toEqual({ ...before, left: [] });
});
