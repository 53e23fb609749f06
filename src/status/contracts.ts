/**
 * Reads documents of a router. Throws `SourceError`; any other error counts as that of an unavailable router.
 */
export interface DocumentSource {
  /** Returns the body of `GET /status/<resource>`. `resource` is a path such as `device_info` or `sysstat/wan`. */
  readStatus(resource: string, signal: AbortSignal): Promise<unknown>;
  /**
   * Returns the body of `GET <path>` below the root of the interface. `path` starts with a slash, as in `/profiles`.
   */
  readPath(path: string, signal: AbortSignal): Promise<unknown>;
}

/** Lists the names of the log files; errors as for a {@link DocumentSource}. */
export interface LogListing {
  listLogs(signal: AbortSignal): Promise<readonly string[]>;
}
