import { writeSync } from 'node:fs';
import { Writable } from 'node:stream';
import { startAgent } from '../../src/agent/index.ts';
import { createLogger, createSystemClock, systemRandom } from '../../src/base/index.ts';
import { loadConfig } from '../../src/config/index.ts';

/**
 * The agent, in a process that kills itself in the middle of its first delivery: its records are committed, and the
 * sink's cursor has not moved. Arguments: configuration file, then `before` or `after` the sink has the records.
 */
const [file = '', moment] = process.argv.slice(2);
const loaded = await loadConfig(file, {});
if (!loaded.ok) process.exit(2);

const stdout = new Writable({
  write(chunk: Buffer) {
    if (moment === 'after') writeSync(1, chunk);
    process.kill(process.pid, 'SIGKILL');
  },
});
await startAgent({
  config: loaded.config,
  version: '0.0.0-test',
  clock: createSystemClock(),
  random: systemRandom,
  logger: createLogger({ level: 'error', format: 'text', output: process.stderr }),
  stdout,
});
