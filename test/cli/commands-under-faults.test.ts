import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import {
  FAULT_NAMES,
  type FaultName,
  type FaultOptions,
  type Simulator,
  startSimulator,
} from '../../src/simulator/index.ts';
import { type RunConfig, writeRunConfig } from '../support/run-config.ts';
import { sampled, sampleNote } from '../support/sampled.ts';
import { type CommandEnd, runCommand } from './run-command.ts';

/** A command for one router, and the path that its own requests begin with. */
interface TriedCommand {
  readonly args: (router: string, file: string) => readonly string[];
  readonly path: string;
  /** What stands in its output, or in the file that it writes, when it succeeds. */
  readonly result: RegExp | 'file';
}

/** Every command that talks to a router and ends by itself. */
const COMMANDS: Readonly<Record<string, TriedCommand>> = {
  status: { args: (router) => ['status', router], path: '/status', result: /"device_info"/ },
  doctor: { args: (router) => ['doctor', router], path: '/status', result: /^ *auth +ok/m },
  'api GET': { args: (router) => ['api', 'GET', '/profiles', router], path: '/profiles', result: /\S/ },
  action: {
    args: (router) => ['action', 'info_led', router, '--option', 'info_led=on', '--yes'],
    path: '/operation',
    result: /^sim-\d+ has accepted info_led$/m,
  },
  bundle: {
    args: (router, file) => ['bundle', router, '--yes', '--output', file],
    path: '/status',
    result: 'file',
  },
  discover: { args: (router) => ['discover', router], path: '/status', result: /^# Resources of sim-/ },
  'logs list': { args: (router) => ['logs', 'list', router], path: '/download/log', result: /^network /m },
  'logs fetch': { args: (router) => ['logs', 'fetch', router], path: '/download/log', result: /"a line of/ },
  'profiles list': { args: (router) => ['profiles', 'list', router], path: '/profiles', result: /^Profile /m },
  'profiles download': {
    args: (router, file) => ['profiles', 'download', router, 'Profile', '--output', file],
    path: '/download/profiles',
    result: 'file',
  },
};

/** So that every fault shows within the time of one command. */
const OPTIONS: Readonly<Partial<Record<FaultName, FaultOptions>>> = {
  slow: { delayMs: 20 },
  http_503: { retryAfterSeconds: 1 },
  http_429: { retryAfterSeconds: 1 },
  huge_body: { bytes: 6 * 1024 * 1024 },
};
const TRIED_FAULTS = sampled<readonly FaultName[]>(
  'commands under faults',
  FAULT_NAMES,
  FAULT_NAMES.filter((_fault, index) => index % 3 === 0),
);
/** Faults that look alike to who asks: every command is tried with one fault of each kind, and its neighbours with the others. */
const KINDS: readonly (readonly FaultName[])[] = [
  ['down', 'bad_certificate'],
  ['hang'],
  ['slow', 'slow_body'],
  ['reset_mid_body', 'truncate_body'],
  ['http_429', 'http_503'],
  ['http_500', 'forbidden'],
  ['unauthorized'],
  ['garbage_json', 'html_200'],
  ['huge_body'],
];
/** Commands that send their request once, whatever the answer. */
const ONCE = ['api GET', 'action'];
/** Faults that are over after a moment: every command that only reads succeeds in spite of them. */
const PASSING: readonly FaultName[] = ['http_503', 'http_429', 'slow', 'unauthorized'];

/** Faults that concern no single requests. */
const OF_CONNECTIONS: readonly FaultName[] = ['down', 'bad_certificate'];

/** Until a command counts as hanging, on a busy machine. */
const COMMAND_MS_MAX = 60_000;
/** All of them on a busy machine. */
const MATRIX_MS_MAX = 20 * 60_000;
/** Commands at a time. */
const PARALLEL = Math.max(2, availableParallelism());

let simulator: Simulator;
let config: RunConfig;
let folder: string;

beforeAll(async () => {
  simulator = await startSimulator({
    routers: TRIED_FAULTS.length + PASSING.length,
    clock: createSystemClock(),
    seed: 5,
    logs: { compressionMs: 0 },
  });
  config = await writeRunConfig(simulator, 'admin');
  folder = await mkdtemp(join(tmpdir(), 'router-exporter-faults-'));
  for (const router of simulator.routers) {
    router.appendLog('network', `a line of ${router.name}`);
    router.rotate('network');
    await router.whenQuiet();
  }
});
afterAll(async () => {
  await simulator.close();
  await config[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

/** What a command has left; ended from outside when it hangs. */
async function run(
  name: string,
  index: number,
  output: string,
): Promise<CommandEnd & { readonly hangs: boolean; readonly hasResult: boolean }> {
  const { args, result } = COMMANDS[name] ?? expect.fail(`There is no command ${name}`);
  const router = simulator.routers[index]?.name ?? '';
  const signal = AbortSignal.timeout(COMMAND_MS_MAX);
  const end = await runCommand([...args(router, output), '--config.file', config.file], { signal });
  return { ...end, hangs: signal.aborted, hasResult: result === 'file' ? existsSync(output) : result.test(end.stdout) };
}

/** Does things in the order of the list, so many at a time. */
async function inParallel(things: readonly (() => Promise<void>)[]): Promise<void> {
  const left = things.values();
  const work = async () => {
    for (const thing of left) await thing();
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
}

const ALL = Object.entries(COMMANDS);

/** Commands that are tried under this fault. */
function commandsUnder(fault: FaultName): readonly (readonly [string, TriedCommand])[] {
  const kind = KINDS.find((faults) => faults.includes(fault));
  // What is of no kind happens to downloads alone.
  if (!kind) return ALL.filter(([, { path }]) => path.startsWith('/download/'));
  return ALL.filter((_command, index) => kind[index % kind.length] === fault);
}

/** Of these commands all, or the one at this place of all in the short run. */
function partOf(commands: readonly (readonly [string, TriedCommand])[], place: number) {
  const part = ALL.filter((_command, index) => index === place % ALL.length);
  return sampled('commands under faults', commands, part);
}

test('every fault is tried with three commands or more', () => {
  const counts = FAULT_NAMES.map((fault) => [fault, commandsUnder(fault).length] as const);
  expect(counts.filter(([, count]) => count < 3)).toEqual([]);
});

describe(`every command for one router${sampleNote('commands under faults')}`, () => {
  test(
    'says something or ends with another exit code than 0, whatever is wrong with the router',
    async () => {
      const silent: unknown[] = [];
      // A router for each fault, with one command at a time.
      const chains = TRIED_FAULTS.map((fault, index) => async () => {
        for (const [name, { path }] of partOf(commandsUnder(fault), index)) {
          await simulator.routers[index]?.fault(
            fault,
            OF_CONNECTIONS.includes(fault) ? {} : { ...OPTIONS[fault], path },
          );
          const { code, hangs, stdout, stderr, hasResult } = await run(name, index, join(folder, `${fault} ${name}`));
          const isExplained = code === 0 ? hasResult : code === 1 && stdout + stderr !== '';
          if (hangs || !isExplained) silent.push({ fault, name, code, hangs, stdout, stderr });
        }
      });
      await inParallel(chains);
      expect(silent).toEqual([]);
    },
    MATRIX_MS_MAX,
  );

  test(
    'has its result when the router only needs a moment',
    async () => {
      const failed: unknown[] = [];
      const chains = PASSING.map((fault, place) => async () => {
        const index = TRIED_FAULTS.length + place;
        for (const [name, { path }] of partOf(ALL, index)) {
          if (ONCE.includes(name)) continue;
          await simulator.routers[index]?.fault(fault, { ...OPTIONS[fault], path, times: 1 });
          const end = await run(name, index, join(folder, `passing ${fault} ${name}`));
          if (end.code !== 0 || end.hangs || !end.hasResult) failed.push({ fault, name, ...end });
        }
      });
      await inParallel(chains);
      expect(failed).toEqual([]);
    },
    MATRIX_MS_MAX,
  );
});
