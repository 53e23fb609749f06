import { test } from 'vitest';
import type { LogRecord } from '../../src/model/index.ts';
import { sampled, sampleNote } from '../support/sampled.ts';
import { openNatsServer } from '../support/sinks/nats-server.ts';
import { withPrograms } from '../support/tools.ts';
import { expectNothingLost, TRIAL_TIMEOUT_MS } from './receiver.ts';

withPrograms(
  ['nats-server'],
  test.skipIf(sampled('real receivers', false, true)).for([
    ['in atomic batches', { allow_atomic: true }],
    ['one by one', {}],
  ] as const),
)(
  `nats-server holds each awkward line once, published %s, also after a kill -9 in the middle${sampleNote('real receivers')}`,
  { timeout: TRIAL_TIMEOUT_MS },
  async ([, config]) => {
    await using server = await openNatsServer();
    // Longer than the server may be dead here.
    await server.addStream({ name: 'LOGS', subjects: ['logs.>'], duplicate_window: 600_000_000_000, ...config });
    await expectNothingLost({
      sink: `type: nats, servers: ["${server.url}"]`,
      isKeyed: true,
      start: () => server.start(),
      kill: () => server.kill(),
      read: async () => (await server.read('LOGS')).map(({ text }) => JSON.parse(text) as LogRecord),
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    });
  },
);
