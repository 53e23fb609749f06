import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleProgram } from './bundle-program.ts';
import { SAMPLES, type SampleName, sampled } from './sampled.ts';

/** Tests of the threads themselves: for each thread one file that starts it from its source. */
const OF_THREADS = [
  'test/settings/yaml-thread.test.ts',
  'test/logs/archive/archive-pool-faults.test.ts',
  'test/logs/archive/archive-pool.test.ts',
  'test/web/basic-auth.test.ts',
  'test/simulator/archive.test.ts',
];

/** Runs once, before the processes of the tests start: says what this run does in part, and compiles for all of them together. */
export async function setup(): Promise<() => Promise<void>> {
  const names = Object.keys(SAMPLES) as SampleName[];
  const parts = names.map((name) => sampled(name, '', `  ${name}: ${SAMPLES[name]}\n`)).join('');
  if (parts !== '') process.stdout.write(`A short run. With FULL=1 all of these are done, and not a part:\n${parts}`);
  // Some hundred processes of the program start. Only the first one has to compile it, and a few large modules are loaded sooner than
  // its sources; some tests start it from these, and as it is packaged.
  const compiled = await mkdtemp(join(tmpdir(), 'router-exporter-compiled-'));
  process.env['NODE_COMPILE_CACHE'] = compiled;
  const { main, threads, children } = await bundleProgram(join(compiled, 'program'));
  process.env['BUNDLED_PROGRAM'] = main;
  process.env['BUNDLED_THREADS'] = JSON.stringify(threads);
  process.env['THREADS_FROM_SOURCES'] = JSON.stringify(sampled('threads in their own tests', OF_THREADS, []));
  process.env['BUNDLED_CHILDREN'] = JSON.stringify(children);
  // Processes that have just ended may still be writing to it.
  return () => rm(compiled, { recursive: true, force: true, maxRetries: 10 });
}
