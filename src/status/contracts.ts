import type { MetricFamily } from '../model/index.ts';
import type { MappingFault } from './mapping/mapping-fault.ts';

/**
 * Reads documents of a router. Throws `SourceError`; any other error counts as that of an unavailable router.
 */
export interface DocumentSource {
  /**
   * Answers `GET /status/<path>`, such as `device_info` or `sysstat/wan`; or `GET <path>` below the root of the interface if
   * `path` starts with a slash, as in `/profiles`. `known`: the digest of an earlier answer.
   */
  readDocument(path: string, signal: AbortSignal, known: string | undefined): Promise<SourceDocument>;
}

/** The answer for a document. */
interface SourceDocument {
  /** The decoded body; `undefined` if its bytes are those of the known digest. */
  readonly body: unknown;
  /** Digest of the bytes of the body; `undefined` if the source has none, so that every answer counts as another one. */
  readonly digest: string | undefined;
}

/** Lists the names of the log files; errors as for a {@link DocumentSource}. */
export interface LogListing {
  listLogs(signal: AbortSignal): Promise<readonly string[]>;
}

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
