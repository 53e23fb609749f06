import { PassThrough } from 'node:stream';
import { z } from 'zod';
import { createSteppedClock } from '../../../src/base/index.ts';
import type { TlsSettings } from '../../../src/settings/index.ts';
import {
  createSink,
  type Sink,
  type SinkSettings,
  type SinkSettingsOf,
  sinksSchema,
} from '../../../src/sinks/index.ts';

type Surroundings = Parameters<typeof createSink>[1];

/** What a test changes of a sink: its settings, and what it is created with. */
export type SinkChange<Type extends SinkSettings['type']> = Partial<Omit<SinkSettingsOf<Type>, 'routers' | 'tls'>> &
  Partial<Surroundings> & { readonly tls?: TlsSettings };

/** A sink as the agent creates it: from the keys of a configuration, with the defaults of its type. */
export function createTestSink<Type extends SinkSettings['type']>(
  type: Type,
  keys: Readonly<Record<string, unknown>>,
  {
    clock = createSteppedClock(0),
    stdout = new PassThrough().resume(),
    routers = () => 1,
    ...change
  }: SinkChange<Type> = {},
): Sink & AsyncDisposable {
  const [defaults] = z.parse(sinksSchema, [{ type, name: 'sink', ...keys }]);
  const settings = { ...defaults, ...change } as unknown as SinkSettings;
  const sink = createSink(settings, { clock, stdout, routers, ...change });
  return Object.assign(sink, { [Symbol.asyncDispose]: () => sink.close() });
}

/** A clock with which a wait ends at once. */
export function withoutWaits<Given extends Surroundings['clock']>(clock: Given): Given {
  return { ...clock, sleep: async () => {} };
}
