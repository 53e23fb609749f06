import type { NatsStream } from './stream.ts';
import { isCovering } from './subject.ts';

/**
 * Ways of publishing records:
 *
 * - `fast`: by fast ingest, many in flight.
 * - `atomic`: in atomic batches.
 * - `single`: one record of each subject at a time. Every stream supports it.
 */
export type PublishMode = 'fast' | 'atomic' | 'single';

/** Returns the fastest mode for records below a prefix. A batch goes to one stream, so that stream must store all subjects. */
export function choosePublishMode(stream: NatsStream, prefix: string): PublishMode {
  if (!stream.subjects.some((pattern) => isCovering(pattern, prefix))) return 'single';
  if (stream.hasFastIngest) return 'fast';
  return stream.hasAtomicBatches ? 'atomic' : 'single';
}
