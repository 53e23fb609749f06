import { expect } from 'vitest';
import { RouterRecorder } from '../../src/agent/router-state/router-recorder.ts';
import type { RouterEvent } from '../../src/agent/router-state/router-state.ts';
import { findLastOrigin } from '../../src/agent/views/recent-records.ts';
import { createSteppedClock } from '../../src/base/index.ts';
import { type RetryAfter, RouterError } from '../../src/client/index.ts';
import type { RouterSettings } from '../../src/config/index.ts';
import { FleetExposition } from '../../src/exposition/index.ts';
import type { FamilyDescription, LifecycleState } from '../../src/model/index.ts';
import { SharedBudget } from '../../src/schedule/index.ts';
import type { PollResult, ResourceResult } from '../../src/status/index.ts';
import { createCollectingLogger, type OwnLine } from '../support/collecting-logger.ts';
import { createRouterSettings, MINUTE_MS } from './router-agent-bench.ts';

export const gone = new RouterError('connect', 'No connection', { disposition: 'retry' });

/** The recorder of one router, and what it says and publishes. */
export function createBench(byteBudget = 0, state: LifecycleState = 'active', changes: Partial<RouterSettings> = {}) {
  const clock = createSteppedClock(Date.UTC(2026, 10, 21));
  const ownLog: OwnLine[] = [];
  const exposition = new FleetExposition();
  const settings = createRouterSettings('https://192.0.2.7', {
    byte_budget: { perDay: byteBudget, statusShare: 0.2 },
    ...changes,
  });
  const budget = new SharedBudget({ bytesPerDay: byteBudget, statusShare: 0.2, clock });
  const gauge: FamilyDescription = { name: 'router_level', help: 'Level.', type: 'gauge' };
  const counter: FamilyDescription = { name: 'router_words_total', help: 'Words.', type: 'counter' };
  const recorder = new RouterRecorder({
    settings,
    ruleFamilies: new Map([gauge, counter].map((family) => [family.name, family])),
    exposition,
    logger: createCollectingLogger(ownLog),
    clock,
    lifecycle: () => ({ state, untilMs: undefined, setBy: 'default', pause: undefined }),
    bytes: () => ({ sent: 10, received: 20, budget }),
    account: { today: '2026-11-21', days: [], polls: [], sumSince: () => 0, estimateMonth: () => null },
    pace: () => ({ level: 'usual', responseSeconds: 0.2, isSignalPoor: false, stretch: 1, statusStretch: 1 }),
    certificate: () => ({ notBeforeMs: 0, notAfterMs: Date.UTC(2027, 0, 1), fingerprintSha256: '' }),
  });
  let seen = 0;
  let metricsBefore = new Set<string>();
  const metrics = () => [...exposition.render('text', clock.monotonic())].join('');
  return {
    clock,
    recorder,
    settings,
    exposition,
    budget,
    metrics,
    record: (event: RouterEvent) => recorder.record(event),
    poll: (result: PollResult, isPutOff = false) =>
      recorder.record({
        type: 'polled',
        result,
        wire: { isTls: true, sent: 1, received: 1 },
        isPutOff,
        isWhole: false,
        quietMs: settings.poll.stale_after,
        certificateNotAfterMs: Date.UTC(2027, 0, 1),
      }),
    /** Records that bytes of a download arrive while a poll waits. */
    reach: () => recorder.record({ type: 'reached', quietMs: settings.poll.stale_after }),
    endTurn: (retryAfter?: RetryAfter) => recorder.record({ type: 'limits-read', budget, retryAfter }),
    storeRecords: (lines: readonly string[]) => {
      const origin = findLastOrigin(lines);
      if (origin) recorder.record({ type: 'records-stored', origin });
    },
    endLogs: () => recorder.record({ type: 'logs-read' }),
    failLogs: (cause: unknown) => recorder.record({ type: 'logs-failed', cause }),
    /** Lines of the log since the last call, as `level: message` with their fields but the router. */
    logged: () => {
      const lines = ownLog.slice(seen);
      seen = ownLog.length;
      return lines.map(({ level, message, fields: { router, ...fields } }): [line: string, fields: object] => {
        expect(router).toBe('plant-7');
        return [`${level}: ${message}`, fields];
      });
    },
    /** Series that are new or have another value since the last call. */
    changed: () => {
      const lines = metrics()
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('#'));
      const changed = lines.filter((line) => !metricsBefore.has(line));
      metricsBefore = new Set(lines);
      return changed.map((line) => line.replace('router="plant-7"', '').replace('{,', '{').replace('{}', ''));
    },
  };
}

export function read(name: string, changes: Partial<ResourceResult> = {}): ResourceResult {
  return {
    name,
    modules: ['m'],
    state: 'read',
    isUnchanged: false,
    families: [{ name: `router_${name}`, help: 'A value.', type: 'gauge', samples: [{ labels: {}, value: 1 }] }],
    faults: [],
    isUnread: false,
    durationMs: 500,
    readAtMs: 0,
    staleAfterMs: 3 * MINUTE_MS,
    isOptional: false,
    error: undefined,
    ...changes,
  };
}

export function failed(name: string, error: unknown = gone): ResourceResult {
  return read(name, { state: 'failed', families: [], error });
}

export function up(resources: readonly ResourceResult[], changes: Partial<PollResult> = {}): PollResult {
  return {
    isUp: true,
    isIdle: false,
    failure: undefined,
    error: undefined,
    durationMs: 2000,
    resources,
    withdrawn: [],
    lacks: [],
    firmwareVersion: '6.1',
    serialNumber: '4711',
    configHash: undefined,
    ...changes,
  };
}

export function down(error: unknown = gone, failure = 'connect'): PollResult {
  return up([failed('number', error)], { isUp: false, failure, error });
}
