import type { SteppedClock } from '../../base/index.ts';
import type { RouterSettings } from '../../config/index.ts';
import { EVENTS_LOG, type Store } from '../../model/index.ts';
import { type DocumentSource, StatusPoller } from '../../status/index.ts';
import { reduceRouter } from '../router-state/reduce-router.ts';
import { RouterState } from '../router-state/router-state.ts';
import { renderStoredHistory } from '../router-state/stored-history.ts';
import { HISTORY_KEY } from './status-polling.ts';

/** One poll for each slot of the history. */
const STEPS = 480;
/** Milliseconds. */
const STEP_MS = 3 * 60_000;
const POLLED = { wire: { isTls: true, sent: 0, received: 0 }, isPutOff: false, isWhole: true, quietMs: STEP_MS };

/**
 * Polls `source` for 24 hours by a clock that is stepped through them, and stores what an agent would have kept, so that the next one
 * recalls it: the history of a demonstration.
 */
export async function storePast(router: RouterSettings, source: DocumentSource, store: Store, clock: SteppedClock) {
  const { name, modules, poll, timezone: zone } = router;
  const { interval: intervalMs, deadline: deadlineMs, stale_after: staleAfterMs } = poll;
  const poller = new StatusPoller({ modules, source, clock, intervalMs, deadlineMs, staleAfterMs, zone });
  const state = new RouterState();
  const now = () => ({ wallMs: clock.now(), ms: clock.monotonic() });
  reduceRouter(state, { type: 'journal-recalled', text: undefined }, now());
  for (let step = 0; step < STEPS; step++) {
    const result = await poller.pollOnce(new AbortController().signal);
    if (result.isUp) reduceRouter(state, { type: 'log-caught-up', component: '', isWaitingForLineEnd: false }, now());
    reduceRouter(state, { type: 'polled', result, certificateNotAfterMs: undefined, ...POLLED }, now());
    await clock.advance(STEP_MS - (clock.monotonic() % STEP_MS));
  }
  // It stands for all logs, whose lag it gave the history.
  state.logs.clear();
  const { text: position } = state.journal.prepare(state, Number.POSITIVE_INFINITY);
  await store.commit({ router: name, component: EVENTS_LOG, position, lines: [] });
  await store.writeValue(name, HISTORY_KEY, renderStoredHistory(state, now()) ?? '');
}
