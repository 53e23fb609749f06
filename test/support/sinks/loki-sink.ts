import { createLokiSink } from '../../../src/delivery/sinks/loki/sink.ts';

type LokiSinkOptions = Parameters<typeof createLokiSink>[0];

/** What a test decides; the rest is as a configuration without keys has it. */
type LokiTestOptions = Partial<LokiSinkOptions> & Pick<LokiSinkOptions, 'clock'>;

const WEEK_MS = 7 * 86_400_000;

/** Opens a sink for three routers, each with a stream of its own. */
export function openLokiSink(url: string, options: LokiTestOptions) {
  const sink = createLokiSink({
    name: 'logs',
    batch: { recordsMax: 1000, bytesMax: 1 << 20, waitMs: 1000 },
    timeoutMs: 30_000,
    url,
    headers: {},
    layout: 'router',
    streamLimit: 5000,
    shards: 32,
    maxAgeMs: WEEK_MS,
    routers: () => 3,
    ...options,
  });
  return Object.assign(sink, { [Symbol.asyncDispose]: () => sink.close() });
}
