import type { MetricFamily } from '../model/index.ts';
import type { MappingFault } from './mapping/mapping-fault.ts';

/** State that a reading may depend on. */
export interface ReaderContext {
  /** The field `hash` of sysdetail/system at its last reading; `undefined` if the router does not report it. */
  configHash: string | undefined;
}

/** A reading that needs more than mapping one document. */
export interface StatusReader {
  /** Reads once. Rejects as a `DocumentSource` does. */
  read(context: ReaderContext, signal: AbortSignal): Promise<ReaderReading>;
}

/** Result of one reading. */
export interface ReaderReading {
  readonly families: readonly MetricFamily[];
  readonly faults: readonly MappingFault[];
  /**
   * True if the router contributed nothing, so that the reading does not prove that the router works. Default false.
   */
  readonly isFromMemory?: boolean;
}
