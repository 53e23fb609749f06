import type { MetricFamily } from '../model/index.ts';
import type { MappingFault } from './mapping/mapping-fault.ts';

/** What a reading may depend on, beside the router. */
export interface ReaderContext {
  /** The field `hash` of sysdetail/system at its last reading; undefined when the router does not say. */
  configHash: string | undefined;
}

/** A reading that is more than one document to metrics. */
export interface StatusReader {
  /** One reading. Rejects as a `DocumentSource` does. */
  read(context: ReaderContext, signal: AbortSignal): Promise<ReaderReading>;
}

/** What came of one reading. */
export interface ReaderReading {
  readonly families: readonly MetricFamily[];
  readonly faults: readonly MappingFault[];
  /** Whether the router gave nothing in it, so that it does not prove that the router is well. Default false. */
  readonly isFromMemory?: boolean;
}
