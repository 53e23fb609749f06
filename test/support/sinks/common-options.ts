import type { Clock } from '../../../src/base/index.ts';
import type { Sink } from '../../../src/delivery/contracts.ts';

/** Options that every sink over HTTP has, as tests set them. */
export interface CommonSinkOptions {
  readonly name: string;
  readonly batch: Sink['batch'];
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly url: string;
  readonly headers: Readonly<Record<string, never>>;
  readonly compress: 'none';
}
