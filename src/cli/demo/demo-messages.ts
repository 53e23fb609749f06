/** An order to the process of the simulated routers. */
export interface DemoOrder {
  readonly type: 'start';
  /** Number of routers. */
  readonly routers: number;
  /** Number of routers, the first ones, that write logs. */
  readonly loggedRouters: number;
  /** Lines that one router writes per second. */
  readonly linesPerSecond: number;
  /** IANA name of the zone of their clocks. */
  readonly timezone: string;
  /** True for routers that fail. */
  readonly hasFaults: boolean;
}

/** The routers that it has started. */
export interface DemoStarted {
  readonly type: 'started';
  /** Certificate of the authority that signed the certificates of all routers. */
  readonly caPem: string;
  /** In the order of their numbers. */
  readonly routers: readonly DemoRouter[];
}

/** Its answer. */
export type DemoReport = DemoStarted | { readonly type: 'failed'; readonly error: string };

/** A simulated router. */
interface DemoRouter {
  readonly name: string;
  readonly url: string;
}
