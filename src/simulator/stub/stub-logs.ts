import type { Clock } from '../../base/index.ts';
import { encodeArchive } from '../encode-archive.ts';

/** Logs that stub routers have. */
export interface StubLogOptions {
  /** Number of logs. */
  readonly components: number;
  /** Length of each at the start. Bytes. */
  readonly bytes: number;
  /** Time between two new lines of the first log. Milliseconds, default: there are no new ones. */
  readonly lineEveryMs?: number | undefined;
  /** Rotated files of each log at the start, each as long as the log. Default: none. */
  readonly archives?: number | undefined;
}

/** Time between two lines at the start. Milliseconds. */
const LINE_MS = 30_000;

/** Logs that are the same for all routers: a listing, one growing file for each component, and its rotated ones. */
export class StubLogs {
  readonly #options: StubLogOptions;
  readonly #clock: Clock;
  readonly #startMs: number;
  #listing = Buffer.alloc(0);
  /** By name; those that grow have the names of {@link #components}. */
  readonly #files = new Map<string, Buffer>();
  readonly #components: readonly string[];
  /** Time of the last line. */
  #writtenMs: number;
  #lines = 0;

  constructor(options: StubLogOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
    this.#startMs = clock.now();
    this.#components = Array.from({ length: options.components }, (_, index) => COMPONENTS[index] ?? `part${index}`);
    const lines = this.#countLines();
    const { archives = 0 } = options;
    this.#writtenMs = this.#startMs - (archives + 1) * lines * LINE_MS;
    for (const name of this.#components) this.#files.set(toCurrent(name), Buffer.alloc(0));
    this.#write(lines, LINE_MS);
    for (let archive = 0; archive < archives; archive++) {
      this.#rotateAll();
      this.#write(lines, LINE_MS);
    }
    this.#list();
  }

  /**
   * Goes on as after an absence: so many rotations, each of a log as long as at the start, evenly until now. Takes processor
   * time for their compression.
   */
  rotate(times: number): void {
    this.#grow();
    const lines = this.#countLines();
    const leftMs = Math.max(0, this.#clock.now() - this.#writtenMs);
    for (let rotation = 0; rotation < times; rotation++) {
      this.#rotateAll();
      this.#write(lines, leftMs / (times * lines));
    }
    this.#list();
  }

  /** Returns the answer to `GET /download/log` with this query; `undefined` for a file that does not exist. */
  read(query: string): Buffer | undefined {
    const file = new URLSearchParams(query).get('log_file');
    if (file === null) return this.#listing;
    this.#grow();
    return this.#files.get(file);
  }

  #countLines(): number {
    return Math.ceil(this.#options.bytes / renderLine(this.#startMs, this.#components[0] ?? '').length);
  }

  /** Appends lines to every log, at this distance. */
  #write(count: number, distanceMs: number): void {
    const beganMs = this.#writtenMs;
    for (const name of this.#components) {
      const lines = Array.from({ length: count }, (_, index) => renderLine(beganMs + (index + 1) * distanceMs, name));
      const file = toCurrent(name);
      this.#files.set(file, Buffer.concat([this.#files.get(file) ?? Buffer.alloc(0), Buffer.from(lines.join(''))]));
    }
    this.#writtenMs = beganMs + count * distanceMs;
  }

  /** Rotates every log at the time of its last line. */
  #rotateAll(): void {
    const stamp = new Date(this.#writtenMs).toISOString().slice(0, 19).replace('T', '-');
    for (const name of this.#components) {
      const file = toCurrent(name);
      this.#files.set(`${name}/log-${stamp}.bz2`, Buffer.from(encodeArchive(this.#files.get(file) ?? Buffer.alloc(0))));
      this.#files.set(file, Buffer.alloc(0));
    }
  }

  #list(): void {
    this.#listing = Buffer.from(JSON.stringify({ log_files: [...this.#files.keys()] }));
  }

  #grow(): void {
    const { lineEveryMs } = this.#options;
    if (lineEveryMs === undefined) return;
    const wanted = Math.floor((this.#clock.now() - this.#startMs) / lineEveryMs);
    const [name] = this.#components;
    if (name === undefined || wanted <= this.#lines) return;
    const file = toCurrent(name);
    const times = Array.from({ length: wanted - this.#lines }, (_, index) => {
      return this.#startMs + (this.#lines + index + 1) * lineEveryMs;
    });
    this.#lines = wanted;
    const fresh = times.map((utcMs) => renderLine(utcMs, name));
    this.#files.set(file, Buffer.concat([this.#files.get(file) ?? Buffer.alloc(0), Buffer.from(fresh.join(''))]));
    this.#writtenMs = times.at(-1) ?? this.#writtenMs;
  }
}

const COMPONENTS = ['system', 'network', 'modem', 'vpn', 'firewall', 'web'];

function toCurrent(component: string): string {
  return `${component}/current`;
}

/** A line as the routers write it; their zone is UTC. */
function renderLine(utcMs: number, component: string): string {
  const [date = '', time = ''] = new Date(utcMs).toISOString().split(/[TZ.]/);
  return `${date} ${time} [${component}] the state of the connection was checked, and nothing has changed since ${date} ${time}\n`;
}
