/** Defaults and bounds of the configuration. Each has its unit in the name and its reason beside it. */

/** The usual scrape interval: faster polling would only add load that nobody sees. */
export const POLL_INTERVAL_MS = 60_000;
/** Several round trips of a poor cellular link. */
export const POLL_TIMEOUT_MS = 10_000;
/** A link of two seconds' round trip that loses the first packet (TCP sends it again after one second) takes three. */
export const POLL_CONNECT_TIMEOUT_MS = 5000;
/** Leaves a quarter of the default interval free before the next cycle is due. */
export const POLL_DEADLINE_MS = 45_000;
/** The share of a shorter interval that one cycle may take, the same as above. */
export const POLL_DEADLINE_SHARE = 0.75;
/** Two failed cycles at the default interval are not worth a hole in a graph. */
export const POLL_STALE_AFTER_MS = 180_000;
/** The same for a longer interval: this many intervals. */
export const POLL_STALE_AFTER_INTERVALS = 3;

/** Half the poll interval: a log line is wanted sooner than a number. */
export const LOGS_INTERVAL_MS = 30_000;

/** What is read back on first contact is at least what a clock may be wrong by; most routers keep less than these years. */
export const LOGS_START_BACK_MS_MIN = 1000;
export const LOGS_START_BACK_MS_MAX = 10 * 365 * 86_400_000;

/** Every label is stored with every series of the router. */
export const LABELS_MAX = 32;

/** Enough to hide the latency of a network share, far below the limit of open files. */
export const FILE_READS_MAX = 16;

/** A file for each site or customer; each is looked at every few seconds. */
export const ROUTER_FILES_MAX = 1000;
/** All files of routers together: four configuration files. */
export const ROUTER_FILES_BYTES_MAX = 64 * 1024 ** 2;
/** How often files of routers are looked at: soon enough for a person who waits, and nothing for the disk. */
export const WATCH_INTERVAL_MS = 5000;
/** From the look that found a change to the next: a file of this size is written by then. */
export const WATCH_SETTLE_MS = 1000;
/** After so many looks a file that changes all the time is taken as it is. */
export const WATCH_LOOKS_MAX = 6;
