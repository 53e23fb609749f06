import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from 'node:http';
import { type RequestOptions, request as requestHttps } from 'node:https';
import { createSteppedClock, type SteppedClock } from '../../src/base/index.ts';
import { FanOut } from '../../src/web/fan-out.ts';
import {
  type EventSummary,
  type ListedRouter,
  openWebServer,
  type ProcessSummary,
  type RouterDetail,
  type RouterSummary,
  type SinkSummary,
  type WebContent,
  type WebServer,
  type WebServerOptions,
} from '../../src/web/index.ts';
import { createWebApp } from '../../src/web/routes.ts';
import { Access, HostPolicy, NO_RULES } from '../../src/web/server/access.ts';
import { AddressSet } from '../../src/web/server/client-address.ts';
import { parseServerPaths } from '../../src/web/server/context.ts';
import type { BasicAuth } from '../../src/web/server/passwords.ts';

export const ROUTER: RouterSummary = {
  name: 'plant-7',
  url: 'https://192.0.2.10',
  labels: { site: 'munich' },
  state: 'up',
  lifecycle: { state: 'active', until: null, setBy: 'default' },
  since: '2026-11-21T11:00:00.000Z',
  isFirstState: false,
  isStale: false,
  lastSuccess: '2026-11-21T12:00:00.000Z',
  retryAfter: null,
  failure: null,
  fault: null,
  consecutiveFailures: 0,
  durationSeconds: 0.4,
  logLagSeconds: 4,
  logLossSince: null,
  gaps: 0,
  isSlow: false,
  certificateExpiry: null,
  bytesToday: 21_000,
  byteBudget: null,
  use: { agent: 600_000, agentForecast: 1024 ** 2, used: null, limit: null, forecast: null },
  firmware: '9.5',
  device: {
    model: 'MRX3',
    location: 'Regensburg',
    operator: 'Telekom.de',
    technology: 'LTE',
    signal: { kind: 'rsrp', value: -93 },
    wan: 'wan1',
    uptimeSeconds: 90_000,
    drift: null,
  },
  traffic: { interface: 'lte2', receiveBytesPerSecond: 150_000, transmitBytesPerSecond: 12_500 },
};

const FAULT = { step: 'http', resource: 'lte2', error: 'No answer' } as const;

export const DETAIL: RouterDetail = {
  ...ROUTER,
  state: 'down',
  failure: { reason: 'timeout', step: 'http', error: 'No answer within 10 s' },
  fault: FAULT,
  consecutiveFailures: 2,
  serial: '4711',
  resources: [
    { resource: 'lte2', state: 'up', ageSeconds: 12.5, durationSeconds: 0.2, error: null, finding: null },
    { resource: 'sfp2', state: 'unsupported', ageSeconds: null, durationSeconds: null, error: null, finding: null },
  ],
  session: { state: 'open', since: '2026-11-21T11:00:00.000Z', logins: 2, loginFailures: 1, refreshes: 7 },
  bytes: {
    sent: 1000,
    received: 20_000,
    budget: 5_000_000,
    usedToday: 21_000,
    stretch: 1,
    logsPausedUntil: null,
    statusPausedUntil: null,
    days: [{ day: '2026-11-21', bytes: 21_000, status: 20_000 }],
    month: null,
  },
  dataPlans: [],
  pace: { level: 'usual', responseSeconds: 0.2, isSignalPoor: false, stretch: 1, statusStretch: 1 },
  certificate: { notAfter: '2027-01-01T00:00:00Z' },
  logs: [
    {
      component: 'network',
      lines: 10,
      bytes: 1000,
      unparsedLines: 0,
      gaps: 0,
      archives: 3,
      newest: '2026-11-21T11:59:58.000Z',
      lagSeconds: 4,
      secondsToLoss: null,
      gapAt: null,
      lossSince: null,
      position: { file: 'network/current', offset: 1000 },
      unshipped: null,
    },
  ],
  recentPolls: [
    {
      at: '2026-11-21T12:01:00.000Z',
      durationSeconds: 10,
      ok: false,
      reason: 'timeout',
      error: 'No answer',
      fault: FAULT,
    },
    { at: '2026-11-21T12:00:00.000Z', durationSeconds: 0.4, ok: true, reason: null, error: null, fault: null },
  ],
  logRotation: null,
  recentGaps: [],
  lastHours: [],
  modems: [],
  values: [],
  interfaceRates: [],
};

export const EVENT: EventSummary = {
  at: '2026-11-21T12:00:00.000Z',
  kind: 'router.down',
  router: 'plant-7',
  labels: { site: 'munich' },
  uid: 'k7d2m4q2x4t5h7ca-00000e2f',
  message: 'The router is down: No answer',
  details: { reason: 'timeout' },
};

export const SINK: SinkSummary = {
  name: 'loki',
  type: 'loki',
  state: 'up',
  since: '2026-11-21T11:00:00.000Z',
  startedAt: '2026-11-21T10:00:00.000Z',
  recordsDelivered: 100,
  recordsPerSecond: 2.5,
  recordsWaiting: 0,
  lagSeconds: 0,
  deadLetters: 0,
  lastSuccess: '2026-11-21T12:00:00.000Z',
  error: null,
  reason: null,
  lastFailure: null,
};

export const PROCESS: ProcessSummary = {
  minutes: [],
  gaps: 0,
  runs: { running: 0, waiting: 0, heldBack: 0, max: 512 },
  sinks: [],
  spool: {
    records: 0,
    bytes: 0,
    bytesMax: 1024 ** 3,
    secondsToFull: null,
    isHeldBack: false,
    routersHeldBack: [],
  },
};

/** A process with nothing to do but this. */
export function createProcess(process: Partial<ProcessSummary>): Pick<WebContent, 'describeProcess'> {
  return { describeProcess: () => Promise.resolve({ ...PROCESS, ...process }) };
}

/** One router, up; nothing fails. */
export function createContent(content: Partial<WebContent> = {}): WebContent {
  let letters: ReadonlyMap<string, string> | undefined;
  return {
    renderMetrics: () => ['router_up 1\n'],
    hasRouter: (name) => name === ROUTER.name,
    describeShards: () => undefined,
    describeOpenAccess: () => undefined,
    listModules: () => ['modem', 'system'],
    listEvents: () => [],
    refresh: () => Promise.resolve(),
    findNotifyToken: () => undefined,
    notify: () => {},
    reload: () => Promise.resolve({ ok: true }),
    tryReload: () => Promise.resolve({ ok: false, faults: [] }),
    setRouterState: () => Promise.resolve({ ok: false, reason: 'unknown' }),
    quit: () => {},
    listRouters: () => [ROUTER],
    findRouter(name) {
      const router = [...(content.listRouters?.() ?? [ROUTER])].find((one) => one.name === name);
      return router && { availability: '', ...router };
    },
    describeAvailability(name) {
      letters ??= new Map(
        [...(content.listRouters?.() ?? [])].map((one) => [one.name, (one as ListedRouter).availability]),
      );
      return letters.get(name) ?? '';
    },
    listNames: () => [...(content.listRouters?.() ?? [ROUTER])].map(({ name }) => name),
    describeRouter: () => undefined,
    readRecords: () => Promise.resolve({ records: [], next: null, searchedTo: null, fault: null }),
    followRecords: () => () => {},
    findGrafana: () => undefined,
    listLogs: () => [],
    renderConfig: () => 'web: {}\n',
    describeConfiguration: () => ({
      loadedAt: '1970-01-01T00:00:00.000Z',
      lastReload: null,
      pending: null,
      warnings: [],
      sources: [],
    }),
    listBackups: () => Promise.resolve([]),
    compareKeys: () => Promise.resolve(''),
    renderRouterConfig: () => 'name: plant-7\n',
    ...createProcess({}),
    listDeadLetters: () => ({ letters: [], hasMore: false, counts: [], fault: null }),
    findDeadLetter: () => undefined,
    findUnreadiness: () => undefined,
    onFailed: () => {},
    ...content,
  };
}

export interface Settings {
  readonly content?: Partial<WebContent>;
  readonly routePrefix?: string;
  readonly externalUrl?: string;
  readonly isLifecycleEnabled?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  readonly auth?: BasicAuth;
}

/** The routes without a socket. */
export function createApp(settings: Settings = {}) {
  const { externalUrl, routePrefix = '', isLifecycleEnabled = false } = settings;
  const clock = createSteppedClock(0);
  const dependencies = {
    content: createContent(settings.content),
    clock,
    fanOut: new FanOut(clock),
    ...parseServerPaths({ externalUrl, routePrefix }),
    isLifecycleEnabled,
  };
  return {
    clock,
    app: createWebApp(dependencies, {
      access: new Access(NO_RULES, settings.auth),
      limit: undefined,
      hosts: new HostPolicy([]),
      proxies: new AddressSet([]),
      exempt: new AddressSet([]),
      headers: settings.headers ?? {},
    }),
  };
}

/** Asks the routes of {@link createApp} once. */
export async function ask(path: string, settings: Settings = {}, init: RequestInit = {}) {
  const response = await createApp(settings).app.request(path, init, {});
  return { status: response.status, headers: response.headers, text: await response.text() };
}

export interface Bench extends AsyncDisposable {
  readonly clock: SteppedClock;
  readonly server: WebServer;
  /** Base address of the first listening socket. */
  readonly url: string;
  get(path: string, options?: RequestOptions): Promise<Answer>;
}

/** A server on a free port of loopback. */
export async function openBench(
  content: Partial<WebContent> = {},
  { nowMs = 0, ...options }: Partial<WebServerOptions> & { readonly nowMs?: number } = {},
): Promise<Bench> {
  const clock = createSteppedClock(nowMs);
  const server = await openWebServer({
    addresses: [{ host: '127.0.0.1', port: 0 }],
    clock,
    isLifecycleEnabled: false,
    onFailed: () => {},
    ...options,
  });
  server.serve(createContent(content));
  const [url = ''] = server.urls;
  return {
    clock,
    server,
    url,
    get: (path, requestOptions) => fetchRaw(url + path, requestOptions),
    [Symbol.asyncDispose]: () => server.close(),
  };
}

/** A response as sent over the wire. */
export interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Sends one request on a connection of its own, unless an agent is given. Rejects when the answer is cut. */
export async function fetchRaw(url: string, options: RequestOptions = {}): Promise<Answer> {
  const send = url.startsWith('https:') ? requestHttps : requestHttp;
  const request = send(url, { agent: false, ...options }).end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  // The response reports later errors.
  request.on('error', () => {});
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return { status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) };
}

export function toBasic(user: string, password: string): { authorization: string } {
  return { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` };
}
