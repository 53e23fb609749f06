import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { LongFirst } from './test/support/long-first.ts';

/** Files of tests that need a process of their own, and why. All others share one per worker, which saves starting it for each. */
const ALONE: Readonly<Record<string, string>> = {
  'test/backup/calendar.test.ts': 'changes the time zone of its process',
  'test/net/http-date.test.ts': 'changes the time zone of its process',
  'test/settings/yaml-thread-memory.test.ts': 'measures the memory of its process',
  'test/agent/page-views.test.ts': 'measures the memory of its process',
  'test/base/clock.test.ts': 'sets the time of its process ahead',
  'test/client/connection-attempt.test.ts': 'counts the sockets of its process',
};

export default defineConfig({
  test: {
    // Most of what a test makes is dead by the next one: larger young generations copy less of it.
    execArgv: ['--max-semi-space-size=64'],
    // Half of a full run is waiting for sockets, leases and other programs: more workers than cores keep the cores busy.
    maxWorkers: availableParallelism() * 2,
    // Far beyond what any takes alone: a machine of CI may be shared.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // A loaded machine is slow to start programs; a condition that never comes true still ends well below the test's limit.
    expect: { poll: { timeout: 20_000 } },
    sequence: { sequencer: LongFirst },
    globalSetup: ['test/support/prepare-run.ts'],
    // Node.js imports sources and tests as it does in the program itself, and no test replaces a module.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    setupFiles: ['test/support/bundled-threads.ts', 'test/support/same-cases.ts', 'test/support/leave-nothing.ts'],
    projects: [
      { extends: true, test: { name: 'alone', include: Object.keys(ALONE) } },
      {
        extends: true,
        test: { name: 'shared', include: ['test/**/*.test.ts'], exclude: Object.keys(ALONE), isolate: false },
      },
    ],
  },
});
