import { dirname, resolve } from 'node:path';
import { PassThrough } from 'node:stream';
import { type Clock, createSystemClock, openDeadline, renderMany, untilAborted } from '../../base/index.ts';
import type { Config, RouterSettings } from '../../config/index.ts';
import { createSink, type PreflightFleet, type SinkSettings } from '../../sinks/index.ts';
import { examineStateFolder, type FolderFinding } from '../../store/index.ts';
import { type CommandIo, EXIT, type ExitCode, openProgress, renderJson, writeResult } from '../support/io.ts';
import {
  type ConfigFlags,
  findSecrets,
  readConfig,
  refuseConfig,
  renderUnknownRouter,
} from '../support/read-config.ts';
import { createCleaner, judge, type RouterReport, toFailure } from './examination.ts';
import {
  paintVerdict,
  renderFleet,
  renderRouter,
  renderSteps,
  type ShownStep,
  type TestReport,
  toRouterJson,
  toStepJson,
} from './report.ts';
import { examineRouter } from './router-stages.ts';

interface DoctorFlags extends ConfigFlags {
  /** Names of routers. Empty: all that the agent polls, then the state folder and the sinks. */
  readonly routers: readonly string[];
  readonly json?: boolean | undefined;
  readonly verbose?: boolean | undefined;
}

const ROUTERS_AT_ONCE = 8;
/** With more routers, only those that failed are shown in full. */
const WHOLE_REPORTS_MAX = 3;
const RESTING_SHOWN_MAX = 10;

/**
 * `doctor`: tests routers, state folder and sinks step by step as the agent would use them, and reports what fails and
 * what to do.
 */
export async function doctor(flags: DoctorFlags, io: CommandIo): Promise<ExitCode> {
  const loaded = await readConfig(flags);
  if (!loaded.ok) return refuseConfig(loaded, io);
  const { config } = loaded;
  const routers = chooseRouters(flags, config, io);
  if (!routers) return EXIT.usage;
  const isEmpty = config.routers.length + config.sinks.length === 0;
  if (isEmpty) io.stderr.write(`${flags['config.file']} has no routers and no sinks\n`);
  const reports = await examineRouters(routers, config.sinks.length > 0, io);
  const sinks = flags.routers.length === 0 && !io.signal.aborted ? await trySinks(config, io) : undefined;
  const state =
    flags.routers.length === 0 && !isEmpty ? await examineState(config, flags['config.file'], io) : undefined;
  const text = flags.json
    ? renderJson(toJson(reports, state, sinks))
    : renderReports(reports, [state?.text, sinks?.text], flags.verbose === true, io);
  await writeResult(text, io);
  const hasFailed = sinks?.hasFailed || state?.hasFailed || reports.some(({ verdict }) => verdict === 'failed');
  return hasFailed || io.signal.aborted ? EXIT.failed : EXIT.done;
}

/** Returns `undefined`, with the reason on stderr, for an unknown name. */
function chooseRouters(flags: DoctorFlags, { routers }: Config, io: CommandIo): readonly RouterSettings[] | undefined {
  const { routers: names } = flags;
  if (names.length === 0) {
    const nowMs = createSystemClock().now();
    const [resting = [], asked = []] = [true, false].map((wanted) =>
      routers.filter((router) => isPausedOrRetired(router, nowMs) === wanted),
    );
    const shown = resting.slice(0, RESTING_SHOWN_MAX).map(({ name }) => name);
    const more = resting.length > shown.length ? ` and ${resting.length - shown.length} more` : '';
    const reason = 'Not tested, because the configuration pauses or retires them (name one to test it)';
    if (resting.length > 0) io.stderr.write(`${reason}: ${shown.join(', ')}${more}\n`);
    return asked;
  }
  const unknown = names.filter((name) => !routers.some((router) => router.name === name));
  for (const name of unknown) io.stderr.write(`${renderUnknownRouter(name, routers, flags)}\n`);
  return unknown.length > 0 ? undefined : routers.filter(({ name }) => names.includes(name));
}

/** Another device may have its address by now. */
function isPausedOrRetired({ state, state_until: untilMs = Infinity }: RouterSettings, nowMs: number): boolean {
  return (state === 'paused' || state === 'retired') && untilMs > nowMs;
}

/** In the order of `routers`; when the command is aborted, unfinished reports are left out. */
async function examineRouters(
  routers: readonly RouterSettings[],
  hasSinks: boolean,
  io: CommandIo,
): Promise<readonly RouterReport[]> {
  const clock = createSystemClock();
  const progress = openProgress(io);
  const reports = new Map<RouterSettings, RouterReport>();
  const waiting = routers.values();
  const work = async () => {
    // All workers share one iterator.
    for (const settings of waiting) {
      const onStep = (step: string) =>
        progress.update(`${reports.size} of ${renderMany(routers.length, 'router')}  ${settings.name}: ${step}`);
      reports.set(settings, await examineRouter(settings, { clock, signal: io.signal, hasSinks, onStep }));
    }
  };
  // Wait for all, so that aborted examinations can log out.
  const ends = await Promise.allSettled(Array.from({ length: ROUTERS_AT_ONCE }, work));
  progress.end();
  for (const end of ends) if (end.status === 'rejected' && !io.signal.aborted) throw end.reason;
  return routers.flatMap((settings) => reports.get(settings) ?? []);
}

async function trySinks(config: Config, io: CommandIo): Promise<TestReport | undefined> {
  const progress = openProgress(io);
  progress.update(`testing sinks: ${config.sinks.length}`);
  try {
    return await preflightSinks(config, io);
  } catch (cause) {
    if (!io.signal.aborted) throw cause;
    return undefined;
  } finally {
    progress.end();
  }
}

function renderReports(
  reports: readonly RouterReport[],
  others: readonly (string | undefined)[],
  isVerbose: boolean,
  io: CommandIo,
): string {
  const isMany = reports.length > WHOLE_REPORTS_MAX;
  const shown = reports.filter(({ verdict }) => isVerbose || !isMany || verdict === 'failed');
  return [
    ...(isMany ? [renderFleet(reports, io)] : []),
    ...shown.map((report) => renderRouter(report, io)),
    ...others.filter((text) => text !== undefined && text !== ''),
  ].join('\n');
}

function toJson(
  reports: readonly RouterReport[],
  state: TestReport | undefined,
  sinks: TestReport | undefined,
): object {
  const others = { ...(state && { state: state.json }), ...(sinks && { sinks: sinks.json }) };
  return { routers: reports.map(toRouterJson), ...others };
}

async function examineState(
  { storage, dead_letters: deadLetters }: Config,
  configFile: string,
  io: CommandIo,
): Promise<TestReport> {
  const { path } = storage;
  const found = await examineStateFolder({
    path,
    spoolBytesMax: storage.spool_max,
    recentBytesMax: storage.recent,
    deadLettersBytesMax: deadLetters.max,
  });
  // Units and images name another folder with a flag of `run`, which is unknown here.
  const isDefault = path === resolve(dirname(configFile), 'data');
  const clean = createCleaner([]);
  const steps = (isDefault ? found.map(soften) : found).map((step) => ({ ...step, message: clean(step.message) }));
  const verdict = judge(steps);
  return {
    text: `${paintVerdict(`state  ${clean(path)}  ${verdict}`, verdict, io)}\n${renderSteps(steps, io)}`,
    json: { path, result: verdict, steps: steps.map(toStepJson) },
    hasFailed: verdict === 'failed',
  };
}

function soften(finding: FolderFinding): FolderFinding {
  if (finding.verdict !== 'failed') return finding;
  return {
    ...finding,
    verdict: 'warning',
    hint: 'This is the default folder: without --storage.path, run fails with it',
  };
}

interface PreflightTools {
  readonly clock: Clock;
  readonly create: typeof createSink;
}

const PREFLIGHT_MS_MAX = 30_000;
const CLOSE_MS_MAX = 2000;

/**
 * Tests all sinks concurrently: reachable, authorised, accepts a marked test record. Writes nothing to stdout. Rejects
 * only with the reason of the signal.
 */
export async function preflightSinks(
  config: Config,
  io: CommandIo,
  tools: PreflightTools = { clock: createSystemClock(), create: createSink },
): Promise<TestReport & { readonly json: readonly object[] }> {
  const fleet = describeFleet(config);
  const results = await Promise.all(
    config.sinks.map(async (settings) => ({ settings, findings: await preflight(settings, fleet, io, tools) })),
  );
  io.signal.throwIfAborted();
  return {
    text: results
      .map(
        ({ settings: { name, type }, findings }) =>
          `${paintVerdict(`sink ${name}  ${type}  ${judge(findings)}`, judge(findings), io)}\n${renderSteps(findings, io)}`,
      )
      .join('\n'),
    json: results.map(({ settings: { name, type }, findings }) => ({
      sink: name,
      type,
      result: judge(findings),
      steps: findings.map(toStepJson),
    })),
    hasFailed: results.some(({ findings }) => judge(findings) === 'failed'),
  };
}

async function preflight(
  settings: SinkSettings,
  fleet: PreflightFleet,
  io: CommandIo,
  { clock, create }: PreflightTools,
): Promise<readonly ShownStep[]> {
  const clean = createCleaner(findSecrets(settings).map((secret) => secret.reveal()));
  using deadline = openDeadline(clock, PREFLIGHT_MS_MAX, io.signal);
  const shortHellos: ShownStep[] = [];
  try {
    const surroundings = {
      clock,
      stdout: new PassThrough().resume(),
      routers: () => fleet.routers,
      onShortHello: (message: string) => {
        shortHellos.push({ step: 'tls', verdict: 'warning', message: clean(message), hint: undefined });
      },
    };
    const sink = create(settings, surroundings);
    try {
      // Do not wait for a sink that ignores the signal.
      const findings = await untilAborted(sink.preflight(fleet, deadline.signal), deadline.signal);
      const shown = findings.map(({ step, verdict, message, hint }) => ({
        step: clean(step),
        verdict,
        message: clean(message),
        hint: hint === undefined ? undefined : clean(hint),
      }));
      return [...shortHellos, ...shown];
    } finally {
      using end = openDeadline(clock, CLOSE_MS_MAX);
      await untilAborted(sink.close(), end.signal).catch(() => {});
    }
  } catch (error) {
    const { message, hint } = toFailure(
      error,
      'Check that the sink is running, and the network between it and this machine',
    );
    return [{ step: 'preflight', verdict: 'failed', message: clean(message), hint: hint && clean(hint) }];
  }
}

function describeFleet({ routers }: Config): PreflightFleet {
  const values = new Map<string, Set<string>>();
  for (const { labels } of routers) {
    for (const [name, value] of Object.entries(labels)) {
      const known = values.get(name) ?? new Set();
      values.set(name, known.add(value));
    }
  }
  return {
    routers: routers.length,
    labelValues: Object.fromEntries([...values].map(([name, { size }]) => [name, size])),
  };
}
