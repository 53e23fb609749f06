import { Writable } from 'node:stream';
import type { Agent } from '../../agent/index.ts';
import { createSystemClock, renderCount, renderMany, toPrintable } from '../../base/index.ts';
import { type CommandIo, cutToWidth } from '../support/io.ts';

const REFRESH_MS = 1000;
/** Logs are read every half a minute. Refreshes. */
const RATE_SPAN = 60;
const EVENTS_SHOWN = 6;

/** Keeps the state of the fleet at the end of the terminal, below what else is written to it. */
export class LiveStatus {
  /** For the agent: what it writes to stderr goes above the status, and records go nowhere. */
  readonly io: CommandIo;
  readonly #stdout: CommandIo['stdout'];
  readonly #closed = new AbortController();
  #shown: readonly string[] = [];

  constructor(io: CommandIo) {
    this.#stdout = io.stdout;
    const above = new Writable({
      decodeStrings: false,
      write: (text: string, _encoding, done) => {
        const shown = this.#shown;
        this.#show([]);
        io.stderr.write(text);
        this.#show(shown);
        done();
      },
    });
    const nowhere = new Writable({ write: (_bytes, _encoding, done) => done() });
    this.io = { ...io, stderr: Object.assign(above, { isTTY: io.stderr.isTTY === true }), stdout: nowhere };
  }

  /** Refreshes the status, with `addresses` last, until {@link close}. Never rejects. */
  async run(agent: Agent, addresses: string): Promise<void> {
    const clock = createSystemClock();
    const { signal } = this.#closed;
    const shipped: number[] = [];
    while (!signal.aborted) {
      const { routers, states, polls, recordsShipped, gaps } = agent.summary();
      shipped.push(recordsShipped);
      const spanS = ((shipped.length - 1) * REFRESH_MS) / 1000;
      const rate = (recordsShipped - (shipped[0] ?? 0)) / Math.max(1, spanS);
      if (shipped.length > RATE_SPAN) shipped.shift();
      const counts = Object.entries(states).flatMap(([state, count]) => (count > 0 ? `${count} ${state}` : []));
      const records = `${renderMany(recordsShipped, 'record')} (${rate.toFixed(1)}/s)`;
      const events = agent.listEvents(EVENTS_SHOWN).map(({ at, router, message }) => {
        return `  ${new Date(at).toTimeString().slice(0, 8)}  ${router ?? ''}  ${toPrintable(message)}`;
      });
      this.#show([
        '',
        `${renderMany(routers, 'router')}: ${counts.join(', ')}   ${renderCount(polls)} polls   ${records}   ${renderMany(gaps, 'gap')}`,
        ...events.toReversed(),
        ...addresses.trimEnd().split('\n'),
      ]);
      await clock.sleep(REFRESH_MS, signal).catch(() => {});
    }
  }

  /** Removes the status. */
  close(): void {
    this.#closed.abort();
    this.#show([]);
  }

  #show(lines: readonly string[]): void {
    const up = this.#shown.length === 0 ? '' : `\u001b[${this.#shown.length}F\u001b[J`;
    const text = cutToWidth(lines.map((line) => `${line}\n`).join(''), this.#stdout);
    if (up + text !== '') this.#stdout.write(up + text);
    this.#shown = lines;
  }
}
