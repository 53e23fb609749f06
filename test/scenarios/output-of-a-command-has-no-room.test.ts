import { mkdtempDisposable, readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import { type Simulator, startSimulator } from '../../src/simulator/index.ts';
import { PROGRAM, startProgram, startRouterExporter } from '../support/child.ts';
import { type RunConfig, writeRunConfig } from '../support/run-config.ts';

const KIB = 1024;
/** No file may become larger: as on a disk with this much room, the last write before it takes a part of its bytes. */
const ROOM_BYTES = 4 * KIB;

interface Bench extends AsyncDisposable {
  readonly simulator: Simulator;
  readonly config: RunConfig;
  readonly folder: string;
}

async function openBench(): Promise<Bench> {
  await using stack = new AsyncDisposableStack();
  const simulator = stack.use(await startSimulator({ routers: 1, clock: createSystemClock(), seed: 1 }));
  const config = stack.use(await writeRunConfig(simulator));
  const folder = stack.use(await mkdtempDisposable(join(tmpdir(), 'router-exporter-output-')));
  const rest = stack.move();
  return { simulator, config, folder: folder.path, [Symbol.asyncDispose]: () => rest.disposeAsync() };
}

/** Runs a command whose standard output is appended to this file. */
function runInto(output: string, bytesMax: number, ...args: readonly string[]) {
  const script = `ulimit -f ${bytesMax / KIB}; exec "$0" "$@" >> "$OUTPUT"`;
  return startProgram('bash', ['-c', script, process.execPath, PROGRAM, ...args], { OUTPUT: output }).ended;
}

test('logs fetch into a file without room for all records fails, and says why', async () => {
  await using bench = await openBench();
  const { simulator, config, folder } = bench;
  for (let index = 0; index < 50; index++) simulator.routers[0]?.appendLog('network', `line ${index}`);
  const output = join(folder, 'records.jsonl');

  const { code, stderr } = await runInto(output, ROOM_BYTES, 'logs', 'fetch', 'sim-1', '--config.file', config.file);

  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: 'The output could not be written: EFBIG: file too large, write\n',
  });
  expect((await stat(output)).size).toBe(ROOM_BYTES);
});

test('records that a file without room has no part of, or half, are delivered again by the next run', async () => {
  await using bench = await openBench();
  const { simulator, config, folder } = bench;
  const lines = Array.from({ length: 50 }, (_, index) => `line ${index} of them`);
  for (const line of lines) simulator.routers[0]?.appendLog('network', line);
  // The state of the agent has room.
  const bytesMax = 16 * 1024 * KIB;
  const output = join(folder, 'records.jsonl');
  await writeFile(output, '');
  await truncate(output, bytesMax - ROOM_BYTES);

  const full = await runInto(output, bytesMax, 'run', '--config.file', config.file);
  await using next = startRouterExporter('run', '--config.file', config.file);
  await next.waitFor('stdout', /line 49 of them/);

  expect(full.code).toBe(1);
  expect(full.stderr).toMatch(/could not write to standard output: EFBIG: file too large, write/);
  const kept = (await readFile(output)).subarray(bytesMax - ROOM_BYTES).toString();
  expect(kept).toMatch(/[^\n]$/);
  const arrived = `${kept.slice(0, kept.lastIndexOf('\n') + 1)}${next.stdout}`;
  expect(lines.filter((line) => !arrived.includes(`"${line}"`))).toEqual([]);
});

test.each(['schema', 'completion bash', 'check'])('%s that cannot be written fails, and says why', async (command) => {
  await using bench = await openBench();
  const args = [...command.split(' '), ...(command === 'check' ? ['--config.file', bench.config.file] : [])];

  const { code, stderr } = await startProgram('bash', [
    '-c',
    'exec "$0" "$@" > /dev/full',
    process.execPath,
    PROGRAM,
    ...args,
  ]).ended;

  expect(code).toBe(1);
  expect(stderr).toMatch(/^The output could not be written: ENOSPC: no space left on device, write$/m);
});

test('profiles download without room for all of it fails, and leaves the file that was there', async () => {
  await using bench = await openBench();
  const file = join(bench.folder, 'profile.tar');
  await writeFile(file, 'the last good one');

  const { code, stderr } = await runInto(
    '/dev/null',
    ROOM_BYTES,
    ...['profiles', 'download', 'sim-1', 'Profile', '--config.file', bench.config.file, '--output', file],
  );

  expect({ code, stderr }).toEqual({ code: 1, stderr: 'sim-1: EFBIG: file too large, write\n' });
  expect(await readdir(bench.folder)).toEqual(['profile.tar']);
  expect(await readFile(file, 'utf8')).toBe('the last good one');
});
