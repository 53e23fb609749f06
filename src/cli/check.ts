import { createSystemClock, toPrintable } from '../base/index.ts';
import type { LoadedConfig } from '../config/index.ts';
import { type CostlyPattern, listCostlyPatterns, SAMPLE_LINE_CHARS } from '../logs/index.ts';
import { describeFault, renderFault } from '../settings/index.ts';
import { type AgentFlags, askAgent } from './agent-client.ts';
import { type ConfigFlags, readConfig, warnOfLifecycle } from './configuration.ts';
import { renderUnknownRouter } from './routers/connect.ts';
import { type CommandIo, EXIT, type ExitCode, renderJson, writeResult } from './terminal/io.ts';

/** Options of `check`. */
interface CheckFlags extends ConfigFlags {
  /** True to test each sink as well. */
  readonly triesSinks: boolean;
  /** Name of a router whose settings are printed instead. Default: none. */
  readonly shownRouter?: string | undefined;
  /** True to check the configuration of an agent that is started with this flag. */
  readonly isLifecycleEnabled: boolean;
  /** True for one JSON document instead of lines. */
  readonly isJson: boolean;
  /** The running agent that is asked what its reload would change. Default: none. */
  readonly agent?: AgentFlags | undefined;
}

/**
 * `check`: prints all faults of a configuration, one per line, or that there are none; then warnings, the routers of sources (those of files as they are, others as an agent has stored them), and the patterns that run on every
 * log line, with their cost; with `--diff`, then what the reload of a running agent would change. With `--show`, prints the settings of one router and the origin of each.
 */
export async function check(flags: CheckFlags, io: CommandIo): Promise<ExitCode> {
  const { configFile, storagePath, shownRouter, isJson, agent } = flags;
  if (isJson && (flags.triesSinks || shownRouter !== undefined)) {
    io.stderr.write('error: --json goes with neither --sinks nor --show\n');
    return EXIT.usage;
  }
  const loaded = warnOfLifecycle(
    await readConfig(configFile, { checkedState: 'written', readsSourceFiles: true, shownRouter, storagePath }),
    configFile,
    flags.isLifecycleEnabled,
  );
  if (isJson && (!loaded.ok || !agent)) return writeJson(configFile, loaded, io);
  if (!loaded.ok) {
    for (const fault of loaded.faults) await writeResult(`${renderFault(fault)}\n`, io);
    return EXIT.usage;
  }
  if (shownRouter !== undefined) {
    if (loaded.shown === undefined) {
      io.stderr.write(`${renderUnknownRouter(shownRouter, loaded.config.routers, configFile)}\n`);
      return EXIT.usage;
    }
    await writeResult(loaded.shown, io);
    return EXIT.done;
  }
  if (!isJson) await writeFindings(configFile, loaded, io);
  if (agent) {
    const code = await showPlan({ ...agent, isJson }, io);
    if (code !== EXIT.done) return code;
  }
  if (!flags.triesSinks) return EXIT.done;
  const { preflightSinks } = await import('./doctor/sinks.ts');
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

/** Writes what `check` prints as one document. */
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

/** Prints what a reload of a running agent would change. It reads its files again, and changes nothing. */
function showPlan(flags: AgentFlags & { readonly isJson: boolean }, io: CommandIo): Promise<ExitCode> {
  const accept = flags.isJson ? 'application/json' : 'text/plain';
  return askAgent(flags, { method: 'POST', path: '/-/reload?dry_run=1', accept }, io, async ({ status, text }) => {
    if (status === OK) {
      await writeResult(flags.isJson ? `${text.trimEnd()}\n` : toPrintable(text, true), io);
      return EXIT.done;
    }
    io.stderr.write(`${toPrintable(text.trimEnd(), true)}\n`);
    return EXIT.failed;
  });
}
