import { createSystemClock } from '../base/index.ts';
import { type CostlyPattern, listCostlyPatterns, SAMPLE_LINE_CHARS } from '../logs/index.ts';
import { renderFault } from '../settings/index.ts';
import { readConfig } from './configuration.ts';
import { renderUnknownRouter } from './routers/connect.ts';
import { type CommandIo, EXIT, type ExitCode, writeResult } from './terminal/io.ts';

/** Options of `check`. */
export interface CheckFlags {
  /** Path of the configuration file. */
  readonly configFile: string;
  /** True to test each sink as well. */
  readonly triesSinks: boolean;
  /** Name of a router whose settings are printed instead. Default: none. */
  readonly shownRouter?: string | undefined;
}

/**
 * `check`: prints all faults of a configuration, one per line, or that there are none; then warnings, the routers of sources that an agent has stored, and the patterns that run on every
 * log line, with their cost. With `--show`, prints the settings of one router and the origin of each.
 */
export async function check({ configFile, triesSinks, shownRouter }: CheckFlags, io: CommandIo): Promise<ExitCode> {
  const loaded = await readConfig(configFile, { checkedState: 'written', shownRouter });
  if (!loaded.ok) {
    for (const fault of loaded.faults) await writeResult(`${renderFault(fault)}\n`, io);
    return EXIT.usage;
  }
  const { routers, sinks, logRules, redact } = loaded.config;
  if (shownRouter !== undefined) {
    if (loaded.shown === undefined) {
      io.stderr.write(`${renderUnknownRouter(shownRouter, routers, configFile)}\n`);
      return EXIT.usage;
    }
    await writeResult(loaded.shown, io);
    return EXIT.done;
  }
  await writeResult(`${configFile}: no faults (routers: ${routers.length}, sinks: ${sinks.length})\n`, io);
  for (const warning of loaded.warnings ?? []) await writeResult(`${renderFault(warning)}\n`, io);
  for (const { source, routers: used, refused, refusals } of loaded.sources ?? []) {
    await writeResult(`${configFile}: source ${source} (routers: ${used.size}, refused: ${refused})\n`, io);
    for (const refusal of refusals) await writeResult(`${refusal}\n`, io);
  }
  for (const costly of listCostlyPatterns(logRules, redact, createSystemClock())) {
    await writeResult(`${configFile}: ${renderCost(costly)}\n`, io);
  }
  if (!triesSinks) return EXIT.done;
  const { preflightSinks } = await import('./doctor/sinks.ts');
  const { text, hasFailed } = await preflightSinks(loaded.config, io);
  await writeResult(text, io);
  return hasFailed ? EXIT.failed : EXIT.done;
}

function renderCost({ metric, pattern, reason, lineUs }: CostlyPattern): string {
  const owner = metric === undefined ? 'redact' : `log rule ${metric}`;
  const cost = `about ${lineUs.toFixed(1)} µs for a line of ${SAMPLE_LINE_CHARS} characters on this machine`;
  const text = JSON.stringify(pattern);
  const why = {
    'no-literal': `no text stands in every match of ${text}`,
    'no-room': `the patterns before it take all room for texts to look for, and none is left for ${text}`,
  };
  return `${owner}: ${why[reason]}, so it runs on every line (${cost})`;
}
