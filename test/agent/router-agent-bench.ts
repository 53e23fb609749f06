import type { ServerResponse } from 'node:http';
import { LineProcessing } from '../../src/agent/line-processing.ts';
import type { RouterEvent } from '../../src/agent/router-state/router-state.ts';
import type { RouterLifecycle } from '../../src/agent/routers/lifecycle-keeper.ts';
import { RouterAgent, type RouterAgentOptions } from '../../src/agent/routers/router-agent.ts';
import { SpoolGuard } from '../../src/agent/spool-guard.ts';
import type { SteppedClock } from '../../src/base/index.ts';
import { ConnectionLimit } from '../../src/client/index.ts';
import type { RouterSettings } from '../../src/config/index.ts';
import { FleetExposition } from '../../src/exposition/index.ts';
import { openArchivePool } from '../../src/logs/index.ts';
import type { StoreError } from '../../src/model/index.ts';
import type { CurrentRun, RunOutcome } from '../../src/schedule/index.ts';
import type { ModuleDefinition } from '../../src/status/index.ts';
import { answerJson, openRouter, type RouterBench } from '../client/http-router.ts';
import { createCollectingLogger, type OwnLine } from '../support/collecting-logger.ts';
import { createRouterSettings as createPlainSettings } from '../support/router-settings.ts';

export const SECOND_MS = 1000;
export const MINUTE_MS = 60 * SECOND_MS;
export const NEVER = new AbortController().signal;
/** A run that was not triggered and that nothing waits for. */
const QUIET: CurrentRun = { isAwaited: () => false, isTriggered: false };

/** A router without special settings. */
export const ACTIVE: RouterLifecycle = { state: 'active', untilMs: undefined, setBy: 'default', pause: undefined };

type Answer = (response: ServerResponse) => unknown;

/** A module with one gauge, `n` in the status of the resource `path`. */
export function createModule(name: string, path: string, rest: Partial<ModuleDefinition> = {}): ModuleDefinition {
  const text = { hasBinaryPrefixes: false, nullValues: [], nullWhen: undefined, stateLabel: 'state' };
  const metric = { name: `router_${name}`, help: name, value: 'n', ...text };
  return {
    name,
    help: '',
    isIdentity: false,
    resources: [
      { path, isOptional: false, each: 'status', labels: {}, metrics: [{ ...metric, type: 'gauge', labels: {} }] },
    ],
    ...rest,
  };
}

/** Who the router is, asked for rarely; a number, asked for at every poll. */
export const MODULES: readonly ModuleDefinition[] = [
  createModule('identity', 'device_info', { isIdentity: true, minIntervalMs: 15 * MINUTE_MS }),
  createModule('number', 'number'),
];

/** Settings of one router with these modules, which is polled every minute and whose logs are read every half. */
export function createRouterSettings(url: string, changes: Partial<RouterSettings> = {}): RouterSettings {
  return createPlainSettings(url, { modules: MODULES, ...changes });
}

/** One router's agent over HTTP, whose runs the test triggers, and what it reported to the rest of the agent. */
export interface RouterAgentBench extends AsyncDisposable {
  readonly agent: RouterAgent;
  readonly clock: SteppedClock;
  readonly exposition: FleetExposition;
  readonly events: RouterEvent[];
  readonly ownLog: OwnLine[];
  /** By key. */
  readonly values: Map<string, string>;
  readonly triggered: string[];
  /** Requests but logins and logouts since the last call. */
  asked(): string[];
  logins(): number;
  logouts(): number;
  /** Answers of the router by a part of the path; the first that fits holds. */
  readonly answers: Map<string, Answer>;
  /** In memory. */
  readonly store: {
    fault: StoreError | undefined;
    readonly lines: string[];
    readonly positions: Map<string, string>;
    facts: string | undefined;
    bytes: number;
  };
  activity(name: 'status' | 'logs' | 'backup'): ReturnType<RouterAgent['activities']>[number] | undefined;
  /** Does one run, paused or not. */
  run(name: 'status' | 'logs', turn?: Partial<CurrentRun>): Promise<RunOutcome>;
  metrics(): string;
}

export const BOARD = {
  status: { n: 1, list: [{ board_type: 'main', firmware_version: '6.1', serial_number: '4711' }] },
};

function answerAsUsual(answers: Map<string, Answer>, url: string, response: ServerResponse): unknown {
  for (const [part, answer] of answers) if (url.includes(part)) return answer(response);
  if (url.includes('/auth/')) return answerJson(response, {});
  if (url.includes('list_files')) return answerJson(response, { log_files: ['network/current'] });
  if (url.includes('/download/log')) return response.end('2026-11-21 12:59:00 [app] a line\n');
  if (url.includes('/status/device_info')) return answerJson(response, BOARD);
  if (url.includes('/status/number')) return answerJson(response, { status: { n: 7 } });
  return response.writeHead(404).end();
}

/** What agents of routers share: a store in memory that fails on request, and everything that they report. */
export function createSurroundings(clock: SteppedClock) {
  const ownLog: OwnLine[] = [];
  const logger = createCollectingLogger(ownLog);
  const events: RouterEvent[] = [];
  const values = new Map<string, string>();
  const triggered: string[] = [];
  const store: RouterAgentBench['store'] = {
    fault: undefined,
    lines: [],
    positions: new Map(),
    facts: undefined,
    bytes: 0,
  };
  const records = new SpoolGuard({
    store: {
      openRouter: () => {},
      readPositions: () => store.positions,
      readFacts: () => store.facts,
      commit: (...commits) => {
        if (store.fault) throw store.fault;
        for (const commit of commits) {
          if ('facts' in commit) {
            store.facts = commit.facts;
            continue;
          }
          store.positions.set(commit.component, commit.position);
          store.lines.push(...commit.lines);
        }
      },
      forgetLogs: (_, components) => {
        for (const component of components) store.positions.delete(component);
      },
      get spooled() {
        return { records: 0, bytes: store.bytes };
      },
      hasShare: () => true,
      checkWritable: () => {},
    },
    spoolBytesMax: () => 1000,
    onSpooled: () => {},
    clock,
    logger,
  });
  const options: Omit<RouterAgentOptions, 'settings'> = {
    lifecycle: ACTIVE,
    hasSinks: true,
    lines: new LineProcessing([], []),
    backup: undefined,
    records,
    values: {
      read: (_router, key) => values.get(key),
      write: (_router, key, text) => void values.set(key, text),
    },
    journal: {
      isWanted: () => true,
      eventsMax: () => 100,
      onUnstored: (cause) => {
        throw cause;
      },
    },
    archives: openArchivePool({ workers: 1 }),
    connections: new ConnectionLimit(100),
    exposition: new FleetExposition(),
    feed: { prepare: () => () => {} },
    clock,
    logger,
    report: (event) => void events.push(event),
    trigger: (key) => void triggered.push(key),
  };
  return { options, ownLog, events, values, triggered, store };
}

export async function openRouterAgent(
  changes: Partial<RouterSettings> = {},
  others: Partial<RouterAgentOptions> = {},
): Promise<RouterAgentBench> {
  const answers = new Map<string, Answer>();
  const router: RouterBench = await openRouter((request, response) =>
    answerAsUsual(answers, request.url ?? '', response),
  );
  const { clock } = router;
  const { options, ...surroundings } = createSurroundings(clock);
  const { archives, exposition } = options;
  const agent = new RouterAgent({ ...options, settings: createRouterSettings(router.url, changes), ...others });
  let seen = 0;
  const activity = (name: 'status' | 'logs' | 'backup') =>
    agent.activities().find(({ key }) => key === `plant-7/${name}`);
  return {
    agent,
    clock,
    exposition,
    ...surroundings,
    answers,
    activity,
    asked() {
      const lines = router.lines().slice(seen);
      seen += lines.length;
      return lines.filter((line) => !line.includes('/auth/'));
    },
    logins: () => router.lines().filter((line) => line === 'POST /auth/login').length,
    logouts: () => router.lines().filter((line) => line === 'POST /auth/logout').length,
    async run(name, turn = {}) {
      const one = activity(name);
      if (!one) throw new RangeError(`There is no activity ${name}`);
      return one.run(NEVER, { ...QUIET, ...turn });
    },
    metrics: () => [...exposition.render('text', clock.monotonic())].join(''),
    async [Symbol.asyncDispose]() {
      await agent.close(AbortSignal.abort()).catch(() => {});
      await archives.close();
      await router[Symbol.asyncDispose]();
    },
  };
}
