import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'vitest';
import { findFreePort } from '../support/free-port.ts';
import { sampled, sampleNote } from '../support/sampled.ts';
import { withPrograms } from '../support/tools.ts';
import { expectNothingLost, type HeldRecord, TRIAL_TIMEOUT_MS } from './receiver.ts';
import { createServerProgram } from './server-program.ts';

withPrograms(['otelcol'], test.skipIf(sampled('real receivers', false, true)))(
  `an OpenTelemetry Collector gets each awkward line, also after a kill -9 in the middle${sampleNote('real receivers')}`,
  async () => {
    const port = await findFreePort();
    const url = `http://127.0.0.1:${port}`;
    const config = (folder: string) => join(folder, 'collector.yaml');
    // It has no page for health: an empty request is accepted once it is up.
    const request = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } };
    await using server = await createServerProgram(
      'otelcol',
      (folder) => [`--config=file:${config(folder)}`],
      () => fetch(`${url}/v1/logs`, request),
    );
    await writeFile(config(server.folder), renderConfig(port));
    await server.start();
    await expectNothingLost({
      sink: `type: otlp, url: "${url}"`,
      // It passes on what it gets, and knows nothing of what it had before.
      isKeyed: false,
      start: () => server.start(),
      kill: () => server.kill(),
      read: async () => parseDebugOutput(server.stderr),
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    });
  },
  TRIAL_TIMEOUT_MS,
);

/**
 * Its exporter writes every record before the request is answered, through the Collector's own logger, which must not
 * sample: by default it leaves out one batch of 300, taking its text for one of a line that comes too often.
 */
function renderConfig(port: number): string {
  return `receivers: { otlp: { protocols: { http: { endpoint: "127.0.0.1:${port}" } } } }
exporters: { debug: { verbosity: detailed } }
service:
  pipelines: { logs: { receivers: [otlp], exporters: [debug] } }
  telemetry: { logs: { sampling: { enabled: false } }, metrics: { level: none } }
`;
}

/** Records in what the debug exporter writes. A body may hold line ends, but nothing that looks like what follows it. */
function parseDebugOutput(text: string): HeldRecord[] {
  return text
    .split(/^LogRecord #\d+$/m)
    .slice(1)
    .flatMap((record) => {
      const [, message] = /^Body: Str\((.*?)\)\nAttributes:$/ms.exec(record) ?? [];
      const [, uid] = /^ {5}-> log\.record\.uid: Str\((.*)\)$/m.exec(record) ?? [];
      return message === undefined || uid === undefined ? [] : [{ uid, message }];
    });
}
