import { dirname, resolve } from 'node:path';
import { createSystemClock } from '../../base/index.ts';
import type { Config, RouterSettings } from '../../config/index.ts';
import { examineStateFolder, type FolderFinding } from '../../store/index.ts';
import { type ConfigFlags, readConfig, refuseConfig } from '../configuration.ts';
import { renderUnknownRouter } from '../routers/connect.ts';
import { type CommandIo, EXIT, type ExitCode, renderJson, writeResult } from '../terminal/io.ts';
import { openProgress } from '../terminal/show.ts';
import {
  paintVerdict,
  renderFleet,
  renderRouter,
  renderSteps,
  type TestReport,
  toRouterJson,
  toStepJson,
} from './report.ts';
import { examineRouter } from './router.ts';
import { preflightSinks } from './sinks.ts';
import { createCleaner, judge, type RouterReport } from './steps.ts';

/** Options of `doctor`. */
interface DoctorFlags extends ConfigFlags {
  /** Names of routers; empty = all that the agent asks, then the folder of the state and the sinks. */
  readonly routers: readonly string[];
  /** True to print JSON. */
  readonly isJson: boolean;
  /** True to show all steps of every router, however many there are. */
  readonly isVerbose: boolean;
}

/** Maximum routers examined concurrently. */
const ROUTERS_AT_ONCE = 8;
/** With more routers than this, those without problems are shown in one line each. */
const WHOLE_REPORTS_MAX = 3;
/** Names of routers shown that are not tested. */
const RESTING_SHOWN_MAX = 10;

/** `doctor`: tests routers, the folder of the state and sinks step by step as the agent would use them, and reports what fails and what to do. */
export async function doctor(flags: DoctorFlags, io: CommandIo): Promise<ExitCode> {
  const loaded = await readConfig(flags.configFile, { storagePath: flags.storagePath });
  if (!loaded.ok) return refuseConfig(loaded, io);
  const { config } = loaded;
  const routers = chooseRouters(flags, config, io);
  if (!routers) return EXIT.usage;
  const isEmpty = config.routers.length + config.sinks.length === 0;
  if (isEmpty) io.stderr.write(`${flags.configFile} has no routers and no sinks\n`);
  const reports = await examineRouters(routers, config.sinks.length > 0, io);
  const sinks = flags.routers.length === 0 && !io.signal.aborted ? await trySinks(config, io) : undefined;
  const state = flags.routers.length === 0 && !isEmpty ? await examineState(config, flags.configFile, io) : undefined;
  const text = flags.isJson
    ? renderJson(toJson(reports, state, sinks))
    : renderReports(reports, [state?.text, sinks?.text], flags.isVerbose, io);
  await writeResult(text, io);
  const hasFailed = sinks?.hasFailed || state?.hasFailed || reports.some(({ verdict }) => verdict === 'failed');
  return hasFailed || io.signal.aborted ? EXIT.failed : EXIT.done;
}

/** Returns the named routers, or those that the agent asks; `undefined` when a name is unknown, with the reason on stderr. */
function chooseRouters(
  { routers: names, configFile }: DoctorFlags,
  { routers }: Config,
  io: CommandIo,
): readonly RouterSettings[] | undefined {
  if (names.length === 0) {
    const nowMs = createSystemClock().now();
    const [resting = [], asked = []] = [true, false].map((wanted) =>
      routers.filter((router) => isResting(router, nowMs) === wanted),
    );
    const shown = resting.slice(0, RESTING_SHOWN_MAX).map(({ name }) => name);
    const more = resting.length > shown.length ? ` and ${resting.length - shown.length} more` : '';
    const reason = 'Not tested, because the configuration pauses or retires them (name one to test it)';
    if (resting.length > 0) io.stderr.write(`${reason}: ${shown.join(', ')}${more}\n`);
    return asked;
  }
  const unknown = names.filter((name) => !routers.some((router) => router.name === name));
  for (const name of unknown) io.stderr.write(`${renderUnknownRouter(name, routers, configFile)}\n`);
  return unknown.length > 0 ? undefined : routers.filter(({ name }) => names.includes(name));
}

/** Returns true while the configuration wants a router not to be asked. Another device may have its address by now. */
function isResting({ state, state_until: untilMs = Infinity }: RouterSettings, nowMs: number): boolean {
  return (state === 'paused' || state === 'retired') && untilMs > nowMs;
}

/** Examines routers; reports are in the order of `routers`, without those unfinished when the command had to end. */
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
        progress.update(`${reports.size} of ${routers.length} routers  ${settings.name}: ${step}`);
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
  progress.update(`${config.sinks.length} sinks`);
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
  const shown = reports.filter(({ verdict }) => isVerbose || !isMany || verdict !== 'ok');
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

/** Tests the folder of the state: usable by this account, and with enough free space. Changes nothing. */
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
    lettersBytesMax: deadLetters.max,
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
