import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // A loaded machine is slow to start programs; a condition that never comes true still ends well below the test's limit.
    expect: { poll: { timeout: 20_000 } },
  },
});
