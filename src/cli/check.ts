import { createSystemClock, toPrintable } from '../base/index.ts';
import { type LoadedConfig, renderEffectiveRouter } from '../config/index.ts';
import { type CostlyPattern, listCostlyPatterns, SAMPLE_LINE_CHARS } from '../logs/index.ts';
import { describeFault, renderFault } from '../settings/index.ts';
import { type AgentFlags, askAgent } from './support/agent-client.ts';
import { type CommandIo, EXIT, type ExitCode, renderJson, writeResult } from './support/io.ts';
import { warnOfPlans } from './support/month-use.ts';
import { type ConfigFlags, readConfig, renderUnknownRouter, warnOfLifecycle } from './support/read-config.ts';

interface CheckFlags extends ConfigFlags, Omit<AgentFlags, 'url'> {
  readonly sinks?: boolean | undefined;
  readonly show?: string | undefined;
  readonly 'web.enableLifecycle'?: boolean | undefined;
  readonly json?: boolean | undefined;
  /** URL of a running agent, to show what its reload would change. Default: none. */
  readonly diff?: string | undefined;
}

/**
 * `check`: prints all faults of a configuration, one per line, or that there are none; then warnings, the routers of
 * sources, and the cost of patterns that run on every log line. `--diff` adds what the reload of a running agent would
 * change; `--show` prints instead the settings of one router with their origins.
 */
export async function check(flags: CheckFlags, io: CommandIo): Promise<ExitCode> {
  const { 'config.file': configFile, show: shownRouter, json: isJson = false, diff } = flags;
  if (isJson && (flags.sinks || shownRouter !== undefined)) {
    io.stderr.write('error: --json goes with neither --sinks nor --show\n');
    return EXIT.usage;
  }
  const loaded = warnOfLifecycle(
    warnOfPlans(await readConfig(flags, { checkedState: 'written', readsSourceFiles: true }), configFile),
    configFile,
    flags['web.enableLifecycle'] === true,
  );
  if (isJson && (!loaded.ok || diff === undefined)) return writeJson(configFile, loaded, io);
  if (!loaded.ok) {
    for (const fault of loaded.faults) await writeResult(`${renderFault(fault)}\n`, io);
    return EXIT.usage;
  }
  if (shownRouter !== undefined) {
    const { routers, origins } = loaded.config;
    const router = routers.find(({ name }) => name === shownRouter);
    if (!router) {
      io.stderr.write(`${renderUnknownRouter(shownRouter, routers, flags)}\n`);
      return EXIT.usage;
    }
    await writeResult(renderEffectiveRouter(router, origins), io);
    return EXIT.done;
  }
  if (!isJson) await writeFindings(configFile, loaded, io);
  if (diff !== undefined) {
    const code = await showPlan({ ...flags, url: diff }, isJson, io);
    if (code !== EXIT.done) return code;
  }
  if (!flags.sinks) return EXIT.done;
  const { preflightSinks } = await import('./doctor/doctor.ts');
  const { text, hasFailed } = await preflightSinks(loaded.config, io);
  await writeResult(text, io);
  return hasFailed ? EXIT.failed : EXIT.done;
}

type ValidConfig = LoadedConfig & { readonly ok: true };

async function writeFindings(configFile: string, loaded: ValidConfig, io: CommandIo): Promise<void> {
  const { routers, sinks } = loaded.config;
  await writeResult(`${configFile}: no faults (routers: ${routers.length}, sinks: ${sinks.length})\n`, io);
  for (const warning of loaded.warnings ?? []) {
    const { file, line, column } = warning;
    await writeResult(`${file}:${line}:${column}: Warning: ${describeFault(warning)}\n`, io);
  }
  for (const { source, routers: used, refused, refusals } of loaded.sources ?? []) {
    await writeResult(`${configFile}: source ${source} (routers: ${used.size}, refused: ${refused})\n`, io);
    for (const refusal of refusals) await writeResult(`Warning: ${refusal}\n`, io);
  }
  for (const costly of listCosts(loaded)) await writeResult(`${configFile}: ${renderCost(costly)}\n`, io);
}

async function writeJson(file: string, loaded: LoadedConfig, io: CommandIo): Promise<ExitCode> {
  const document = loaded.ok
    ? {
        file,
        faults: [],
        warnings: loaded.warnings ?? [],
        routers: loaded.config.routers.length,
        sinks: loaded.config.sinks.length,
        sources: (loaded.sources ?? []).map(({ source, routers, refused, refusals }) => {
          return { source, routers: routers.size, refused, refusals };
        }),
        costly_patterns: listCosts(loaded).map(({ metric, pattern, reason, lineUs }) => {
          return { metric: metric ?? null, pattern, reason, microseconds_per_line: Math.round(lineUs * 10) / 10 };
        }),
      }
    : { file, faults: loaded.faults };
  await writeResult(renderJson(document), io);
  return loaded.ok ? EXIT.done : EXIT.usage;
}

function listCosts({ config: { log_rules: logRules, redact } }: ValidConfig): readonly CostlyPattern[] {
  return listCostlyPatterns(logRules, redact, createSystemClock());
}

function renderCost({ metric, pattern, reason, lineUs }: CostlyPattern): string {
  const owner = metric === undefined ? 'redact' : `log rule ${metric}`;
  const cost = `about ${lineUs.toFixed(1)} µs for a line of ${SAMPLE_LINE_CHARS} characters on this machine`;
  const text = JSON.stringify(pattern);
  const why = {
    'no-literal': `${text} has no literal text that every match contains`,
    'no-room': `earlier patterns use up the limit for literal texts, so ${text} has none`,
  };
  return `${owner}: ${why[reason]}, so it runs on every line (${cost})`;
}

const OK = 200;

/** The agent reads its files again, and changes nothing. */
function showPlan(flags: AgentFlags, isJson: boolean, io: CommandIo): Promise<ExitCode> {
  const accept = isJson ? 'application/json' : 'text/plain';
  return askAgent(flags, { method: 'POST', path: '/-/reload?dry_run=1', accept }, io, async ({ status, text }) => {
    if (status === OK) {
      await writeResult(isJson ? `${text.trimEnd()}\n` : toPrintable(text, true), io);
      return EXIT.done;
    }
    io.stderr.write(`${toPrintable(text.trimEnd(), true)}\n`);
    return EXIT.failed;
  });
}
