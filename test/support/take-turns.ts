import { setImmediate } from 'node:timers/promises';

const EXTRA_TURNS_MAX = 100_000;

/**
 * Lets `count` turns of the event loop pass, for what the network brings, and then as many as reading and writing of files still needs: a clock that
 * is moved by hand does not get ahead of a slow disk.
 */
export async function takeTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await setImmediate();
  for (let turn = 0; turn < EXTRA_TURNS_MAX && isDiskBusy(); turn++) await setImmediate();
}

function isDiskBusy(): boolean {
  return process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'));
}
