/** Counters of one router since the simulator started; a restart of the router does not reset them. */
export interface RouterCounts {
  /** Successful logins. */
  readonly logins: number;
  /** Logins rejected because of the name or the password. */
  readonly loginFailures: number;
  /** Logins rejected because an earlier failure had locked the name. */
  readonly lockedLogins: number;
  readonly refreshes: number;
  /** Refresh tokens that had been used before. */
  readonly refreshReuses: number;
  readonly logouts: number;
  /** Answers with status 401, for any path. */
  readonly unauthorized: number;
  /** Requests by method and path below the API's root: `GET /download/log?list_files`; unknown paths are `GET (unknown)`. */
  readonly requests: Readonly<Record<string, number>>;
  /** Bytes of the bodies of all answers. */
  readonly bodyBytes: number;
}

type SingleCounter = 'logins' | 'loginFailures' | 'lockedLogins' | 'refreshes' | 'refreshReuses' | 'logouts';

/** Counts the requests to one router. */
export class RouterCounters {
  readonly #singles: Record<SingleCounter, number> = {
    logins: 0,
    loginFailures: 0,
    lockedLogins: 0,
    refreshes: 0,
    refreshReuses: 0,
    logouts: 0,
  };
  /** Bounded by the number of routes: unknown paths share one key per method. */
  readonly #requests = new Map<string, number>();
  #unauthorized = 0;
  #bodyBytes = 0;

  add(counter: SingleCounter): void {
    this.#singles[counter] += 1;
  }

  addAnswer(request: string, status: number, bodyBytes: number): void {
    this.#requests.set(request, (this.#requests.get(request) ?? 0) + 1);
    if (status === 401) this.#unauthorized += 1;
    this.#bodyBytes += bodyBytes;
  }

  /** Returns a copy of the counters. */
  snapshot(): RouterCounts {
    return {
      ...this.#singles,
      unauthorized: this.#unauthorized,
      requests: Object.fromEntries(this.#requests),
      bodyBytes: this.#bodyBytes,
    };
  }
}
