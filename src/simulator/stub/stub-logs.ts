import type { Clock } from '../../base/index.ts';

/** Logs that stub routers have. */
export interface StubLogOptions {
  /** Number of logs. */
  readonly components: number;
  /** Length of each at the start. Bytes. */
  readonly bytes: number;
  /** Time between two new lines of the first log. Milliseconds, default: there are no new ones. */
  readonly lineEveryMs?: number | undefined;
}

/** Time between two lines at the start. Milliseconds. */
const LINE_MS = 30_000;

/** Logs that are the same for all routers, without rotated files: a listing, and one growing file for each component. */
export class StubLogs {
  readonly #options: StubLogOptions;
  readonly #clock: Clock;
  readonly #startMs: number;
  readonly #listing: Buffer;
  readonly #files: Map<string, Buffer>;
  #lines = 0;

  constructor(options: StubLogOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
    this.#startMs = clock.now();
    const names = Array.from({ length: options.components }, (_, index) => COMPONENTS[index] ?? `part${index}`);
    this.#files = new Map(names.map((name) => [`${name}/current`, this.#renderFile(name)]));
    this.#listing = Buffer.from(JSON.stringify({ log_files: [...this.#files.keys()] }));
  }

  /** Returns the answer to `GET /download/log` with this query; `undefined` for a file that does not exist. */
  read(query: string): Buffer | undefined {
    const file = new URLSearchParams(query).get('log_file');
    if (file === null) return this.#listing;
    this.#grow();
    return this.#files.get(file);
  }

  #renderFile(name: string): Buffer {
    const line = (utcMs: number) => renderLine(utcMs, name);
    const count = Math.ceil(this.#options.bytes / line(this.#startMs).length);
    const lines = Array.from({ length: count }, (_, index) => line(this.#startMs - (count - index) * LINE_MS));
    return Buffer.from(lines.join(''));
  }

  #grow(): void {
    const { lineEveryMs } = this.#options;
    if (lineEveryMs === undefined) return;
    const wanted = Math.floor((this.#clock.now() - this.#startMs) / lineEveryMs);
    const [first] = this.#files;
    if (!first || wanted <= this.#lines) return;
    const [file, bytes] = first;
    const fresh = Array.from({ length: wanted - this.#lines }, (_, index) =>
      renderLine(this.#startMs + (this.#lines + index + 1) * lineEveryMs, file.split('/')[0] ?? ''),
    );
    this.#lines = wanted;
    this.#files.set(file, Buffer.concat([bytes, Buffer.from(fresh.join(''))]));
  }
}

const COMPONENTS = ['system', 'network', 'modem', 'vpn', 'firewall', 'web'];

/** A line as the routers write it; their zone is UTC. */
function renderLine(utcMs: number, component: string): string {
  const [date = '', time = ''] = new Date(utcMs).toISOString().split(/[TZ.]/);
  return `${date} ${time} [${component}] the state of the connection was checked, and nothing has changed since ${date} ${time}\n`;
}
