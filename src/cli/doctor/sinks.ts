import { PassThrough } from 'node:stream';
import { type Clock, createSystemClock, openDeadline, untilAborted } from '../../base/index.ts';
import type { Config } from '../../config/index.ts';
import type { PreflightFleet, SinkSettings } from '../../delivery/index.ts';
import { createSink } from '../../delivery/index.ts';
import { findSecrets } from '../configuration.ts';
import type { CommandIo } from '../terminal/io.ts';
import { paintVerdict, renderSteps, type ShownStep, type TestReport, toStepJson } from './report.ts';
import { createCleaner, judge, toFailure } from './steps.ts';

/** Dependencies that tests replace. */
interface PreflightTools {
  /** Source of the current time and of timers. */
  readonly clock: Clock;
  /** Creates a sink from its settings. */
  readonly create: typeof createSink;
}

/** Maximum duration of the tests of one sink. Milliseconds. */
const PREFLIGHT_MS_MAX = 30_000;
/** Maximum time to close its connections. Milliseconds. */
const CLOSE_MS_MAX = 2000;

/**
 * Tests all configured sinks concurrently: reachable, authorised, accepts a test record marked as such. Rejects only with
 * the reason of the signal. Writes nothing to standard output.
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
