import { type Clock, createSteppedClock, createSystemClock } from '../../base/index.ts';
import { RouterClient } from '../../client/index.ts';
import {
  type CapturedBodies,
  type FaultName,
  type FaultOptions,
  type SimulatedRouter,
  type Simulator,
  startSimulator,
} from '../../simulator/index.ts';
import { expandPath, loadShippedModules, SHIPPED_MODULES_FOLDER } from '../../status/index.ts';
import { ProcessError } from '../support/other-process.ts';

/** Models of the simulator; the one with the most cards is used. */
const MODELS = 3;
const CHANGING_SHARE = 1 / 3;
const BETWEEN_MS = 60_000;

/**
 * Requests all resources of the default modules from a simulated router, twice with a minute between. Keeps both
 * answers of {@link CHANGING_SHARE} of the resources.
 */
export async function captureAnswers(): Promise<CapturedBodies> {
  const shipped = await loadShippedModules(SHIPPED_MODULES_FOLDER);
  const modules = shipped.ok ? shipped.modules.filter(({ isDefault }) => isDefault) : [];
  const names = modules.flatMap(({ definition }) => definition.resources.flatMap(({ path }) => expandPath(path)));
  const paths = new Set(names.map((name) => (name.startsWith('/') ? name : `/status/${name}`)));
  const clock = createSteppedClock(createSystemClock().now());
  await using simulator = await startSimulator({ routers: MODELS, clock, seed: 1 });
  const { caPem } = simulator;
  const captures = await Promise.all(
    simulator.routers.map(async ({ url }) => {
      const router = new RouterClient({ url, username: 'monitor', password: 'simulated', tls: { caPem } });
      return { router, first: await readAll(router, paths) };
    }),
  );
  await clock.advance(BETWEEN_MS);
  const [largest] = captures.toSorted((a, b) => b.first.size - a.first.size);
  if (!largest) return {};
  const second = await readAll(largest.router, paths);
  await Promise.all(captures.map(({ router }) => router.close()));
  const differing = [...largest.first].filter(([path, body]) => (second.get(path) ?? body) !== body);
  const changing = new Set(differing.slice(0, Math.round(largest.first.size * CHANGING_SHARE)).map(([path]) => path));
  return Object.fromEntries(
    [...largest.first].map(([path, body]) => [path, changing.has(path) ? [body, second.get(path) ?? body] : [body]]),
  );
}

async function readAll(router: RouterClient, paths: ReadonlySet<string>): Promise<ReadonlyMap<string, string>> {
  const bodies = new Map<string, string>();
  for (const path of paths) {
    const { status, bytes } = await router.call({ method: 'GET', path });
    if (status === 200) bodies.set(path, Buffer.from(bytes).toString());
  }
  return bodies;
}

export interface BenchManners {
  /** From a request to its answer. Milliseconds. Default: 0. */
  readonly latencyMs?: number | undefined;
  /** Share of the answers that are delayed by 1 s, as after a lost packet. Default: 0. */
  readonly lossRatio?: number | undefined;
  /**
   * Share of the routers that accept connections and then hang, reset, drip, or send without end, one kind after the
   * other. Default: 0.
   */
  readonly deadRatio?: number | undefined;
}

interface BenchLogsOptions {
  readonly components: number;
  /** Of each log at the start. */
  readonly bytes: number;
  /** Between two new lines of the first log. Milliseconds. Default: no new lines. */
  readonly lineEveryMs?: number | undefined;
  /** Rotated files of each log at the start, each as long as the log. Default: 0. */
  readonly archives?: number | undefined;
}

export interface BenchRoutersOptions extends BenchManners {
  readonly routers: number;
  /** Additional routers for a bare client, numbered after the others; dead ones among them hang. Default: 0. */
  readonly bareRouters?: number | undefined;
  readonly bodies: CapturedBodies;
  readonly logs?: BenchLogsOptions | undefined;
  /** Idle time after which a router closes its connection. Milliseconds. Default: never. */
  readonly idleMs?: number | undefined;
}

const DEATHS: readonly [FaultName, FaultOptions?][] = [
  ['hang'],
  ['reset_mid_body'],
  ['slow_body', { bytesPerSecond: 1 }],
  ['huge_body', { bytes: 2 ** 40 }],
];

export function isDeadRouter(number: number, deadRatio: number): boolean {
  return countDeadBefore(number + 1, deadRatio) > countDeadBefore(number, deadRatio);
}

function countDeadBefore(number: number, deadRatio: number): number {
  return Math.floor(number * deadRatio);
}

const COMPONENTS = ['system', 'network', 'modem', 'vpn', 'firewall', 'web'];
/** Time between two lines at the start. */
const LINE_MS = 30_000;

/** Writes the logs of all routers. Sets their clock back at first, and forward with every line. */
class BenchLogs {
  readonly #router: SimulatedRouter;
  readonly #clock: Clock;
  readonly #components: readonly string[];
  readonly #lines: number;
  #writtenMs: number;

  constructor(router: SimulatedRouter, { components, bytes }: BenchLogsOptions, clock: Clock) {
    this.#router = router;
    this.#clock = clock;
    this.#components = Array.from({ length: components }, (_, index) => COMPONENTS[index] ?? `part${index}`);
    this.#lines = Math.ceil(bytes / `YYYY-MM-DD hh:mm:ss [system] ${renderMessage(0)}\n`.length);
    this.#writtenMs = clock.now();
  }

  async begin(archives: number): Promise<void> {
    this.#jump(-(archives + 1) * this.#lines * LINE_MS);
    this.#write(LINE_MS);
    for (let archive = 0; archive < archives; archive++) this.#rotate(LINE_MS);
    await this.#router.whenQuiet();
  }

  /** Adds rotations since the last line, evenly until now, each of a log as long as at the start. */
  async rotate(times: number): Promise<void> {
    if (times === 0) return;
    const leftMs = this.#clock.now() - this.#writtenMs;
    this.#router.jumpClock(-leftMs);
    for (let rotation = 0; rotation < times; rotation++) this.#rotate(leftMs / (times * this.#lines));
    await this.#router.whenQuiet();
  }

  /** Appends to the first log until `signal` is aborted; then rejects. */
  async grow(lineEveryMs: number, signal: AbortSignal): Promise<never> {
    for (;;) {
      await this.#clock.sleep(lineEveryMs, signal);
      this.#writtenMs = this.#clock.now();
      this.#router.appendLog(this.#components[0] ?? '', renderMessage(this.#writtenMs));
    }
  }

  #jump(ms: number): void {
    this.#router.jumpClock(ms);
    this.#writtenMs += ms;
  }

  #write(distanceMs: number): void {
    for (let line = 0; line < this.#lines; line++) {
      this.#jump(distanceMs);
      for (const name of this.#components) this.#router.appendLog(name, renderMessage(this.#writtenMs));
    }
  }

  #rotate(distanceMs: number): void {
    for (const name of this.#components) this.#router.rotate(name);
    this.#write(distanceMs);
  }
}

function renderMessage(utcMs: number): string {
  const [date = '', time = ''] = new Date(utcMs).toISOString().split(/[TZ.]/);
  return `the state of the connection was checked, and nothing has changed since ${date} ${time}`;
}

/** A simulator with captured answers, in which all routers share one device. */
export class BenchRouters implements AsyncDisposable {
  readonly #options: BenchRoutersOptions;
  readonly #simulator: Simulator;
  /** Has the ports, logs and counters that all share. */
  readonly #one: SimulatedRouter;
  readonly #logs: BenchLogs | undefined;
  readonly #closed = new AbortController();
  #counted: Readonly<Record<string, number>> = {};

  private constructor(options: BenchRoutersOptions, simulator: Simulator, clock: Clock) {
    const [one] = simulator.routers;
    if (!one) throw new ProcessError('no-answer', 'There are no routers');
    this.#options = options;
    this.#simulator = simulator;
    this.#one = one;
    this.#logs = options.logs && new BenchLogs(one, options.logs, clock);
  }

  static async start(options: BenchRoutersOptions, clock: Clock): Promise<BenchRouters> {
    const { routers, bareRouters = 0, bodies: captured, logs, idleMs = 0 } = options;
    const simulator = await startSimulator({
      routers: routers + bareRouters,
      clock,
      seed: 1,
      timezone: 'UTC',
      captured,
      idleMs,
      logs: { maxSizeBytes: 0, maxAgeMs: 0, maxFiles: Number.MAX_SAFE_INTEGER, compressionMs: 0, truthBytesMax: 0 },
    });
    const started = new BenchRouters(options, simulator, clock);
    await started.change(options);
    await started.#logs?.begin(logs?.archives ?? 0);
    if (logs?.lineEveryMs !== undefined) started.#logs?.grow(logs.lineEveryMs, started.#closed.signal).catch(() => {});
    return started;
  }

  /** Router `i` has the URL `https://127.0.0.1:<port>/r<i>`. */
  get port(): number {
    return Number(new URL(this.#one.url).port);
  }

  /** Certificate that clients must trust. */
  get caPem(): string {
    return this.#simulator.caPem;
  }

  /** Counts requests since the last call, by method and path, such as `GET /download/log?list_files`. */
  count(): Readonly<Record<string, number>> {
    const before = this.#counted;
    this.#counted = this.#one.counters.requests;
    const fresh = Object.entries(this.#counted).map(([route, count]) => [route, count - (before[route] ?? 0)] as const);
    return Object.fromEntries(fresh.filter(([, count]) => count > 0));
  }

  async change({ latencyMs: delayMs = 0, lossRatio = 0, deadRatio = 0 }: BenchManners): Promise<void> {
    const { routers } = this.#options;
    for (const [index, router] of this.#simulator.routers.entries()) {
      const [number, isBare] = index < routers ? [index, false] : [index - routers, true];
      const way = isBare ? 0 : countDeadBefore(number, deadRatio) % DEATHS.length;
      await router.clearFault();
      if (isDeadRouter(number, deadRatio)) await router.fault(...(DEATHS[way] ?? ['hang']));
      else if (delayMs > 0 || lossRatio > 0) await router.fault('slow', { delayMs, lossRatio });
    }
  }

  /** Closes connections and refuses new ones. */
  async leave(): Promise<void> {
    await this.#one.fault('down');
  }

  /** Starts all routers again at the same port, each log with so many more rotated files. */
  async comeBack(rotations: number): Promise<void> {
    await this.#logs?.rotate(rotations);
    await this.#one.clearFault('down');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort();
    await this.#simulator.close();
  }
}
