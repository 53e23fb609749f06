import { z } from 'zod';
import { type Clock, type Logger, parseJson, renderErrorChain } from '../base/index.ts';
import { renderEventUid } from '../logs/index.ts';
import { StoreError } from '../model/index.ts';
import type { AnswerFiles } from '../store/index.ts';
import { type EventSummary, eventSchema } from '../web/index.ts';

interface AgentEventsOptions {
  readonly files: Pick<AnswerFiles, 'read' | 'write'>;
  /** Distinguishes the processes of a fleet. */
  readonly process: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

const NAME = 'agent';
/** A file of them has some ten kilobytes. */
const EVENTS_MAX = 50;
const TEXT_CHARS_MAX = 200;
/** Size of their file. Bytes. */
export const AGENT_EVENTS_BYTES_MAX = 128 * 1024;

/** Starts and reloads of the agent, kept in a file of the state folder. They have no records. */
export class AgentEvents {
  readonly #options: AgentEventsOptions;
  #events: readonly EventSummary[] = [];
  #writing = Promise.resolve();

  constructor(options: AgentEventsOptions) {
    this.#options = options;
  }

  /** The newest first. */
  get events(): readonly EventSummary[] {
    return this.#events;
  }

  /** Reads those of earlier agents. Never rejects. */
  async open(): Promise<void> {
    await this.#attempt(async () => {
      const text = await this.#options.files.read(NAME);
      const stored = z.array(eventSchema).safeParse(parseJson(text ?? '')).data ?? [];
      this.#events = [...this.#events, ...stored].slice(0, EVENTS_MAX);
    });
  }

  add(kind: 'agent.start' | 'agent.reload', text: string, details: EventSummary['details']): void {
    const { clock, process } = this.#options;
    const nowMs = Math.floor(clock.now());
    const uid = renderEventUid(kind, '', '', process, nowMs);
    const message = text.slice(0, TEXT_CHARS_MAX).toWellFormed();
    const event = { at: new Date(nowMs).toISOString(), kind, router: null, labels: {}, uid, message, details };
    this.#events = [event, ...this.#events].slice(0, EVENTS_MAX);
    const content = JSON.stringify(this.#events);
    this.#writing = this.#writing.then(() => this.#attempt(() => this.#options.files.write(NAME, content)));
  }

  /** Resolves when they are written. */
  async close(): Promise<void> {
    await this.#writing;
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (cause) {
      if (!(cause instanceof StoreError)) throw cause;
      this.#options.logger.warn('Events of the agent could not be stored', { error: renderErrorChain(cause) });
    }
  }
}
