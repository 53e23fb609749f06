/**
 * What the router says. Errors carry a `code` from a closed list, the HTTP `status` of an answer, `isAnswered` when the
 * router is well and only this one resource failed, and `retryAfterMs` when the router asks to be left alone for so long.
 */
export interface DocumentSource {
  /** `GET /status/<resource>`: the whole body. `resource` is a path such as `device_info` or `sysstat/wan`. */
  readStatus(resource: string, signal: AbortSignal): Promise<unknown>;
  /** `GET <path>` below the root of the interface: the whole body. `path` begins with a slash, as in `/profiles`. */
  readPath(path: string, signal: AbortSignal): Promise<unknown>;
}

/** Where the names of the log files come from; errors as those of a {@link DocumentSource}. */
export interface LogListing {
  listLogs(signal: AbortSignal): Promise<readonly string[]>;
}
