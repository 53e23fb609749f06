import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Half of a test is waiting for sockets and other programs, so both cores of a small machine have work.
    maxWorkers: '100%',
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A loaded machine is slow to start programs; a condition that never comes true still ends well below the test's limit.
    expect: { poll: { timeout: 20_000 } },
  },
});
