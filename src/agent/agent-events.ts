import { z } from 'zod';
import { type Clock, parseJson } from '../base/index.ts';
import { renderEventUid } from '../logs/index.ts';
import type { AnswerFiles } from '../store/index.ts';
import { type EventSummary, eventSchema } from '../web/index.ts';

interface AgentEventsOptions {
  readonly files: Pick<AnswerFiles, 'read' | 'write'>;
  readonly clock: Clock;
  readonly onFailed: (cause: unknown) => void;
}

const NAME = 'agent';
const EVENTS_MAX = 50;
const TEXT_CHARS_MAX = 200;

/** Starts and reloads of the agent, kept in a file of the state folder. They have no records. */
export class AgentEvents {
  readonly #options: AgentEventsOptions;
  /** The newest first. */
  events: readonly EventSummary[] = [];
  /** Resolves when all are written. */
  written: Promise<void>;

  constructor(options: AgentEventsOptions) {
    this.#options = options;
    this.written = this.#read().catch(options.onFailed);
  }

  add(kind: 'agent.start' | 'agent.reload', text: string, details: EventSummary['details']): void {
    const { files, clock, onFailed } = this.#options;
    const nowMs = Math.floor(clock.now());
    const uid = renderEventUid(kind, '', '', '', nowMs);
    const message = text.slice(0, TEXT_CHARS_MAX).toWellFormed();
    const event = { at: new Date(nowMs).toISOString(), kind, router: null, labels: {}, uid, message, details };
    this.events = [event, ...this.events].slice(0, EVENTS_MAX);
    this.written = this.written.then(() => files.write(NAME, JSON.stringify(this.events))).catch(onFailed);
  }

  async #read(): Promise<void> {
    const text = (await this.#options.files.read(NAME)) ?? '';
    this.events = [...this.events, ...(z.array(eventSchema).safeParse(parseJson(text)).data ?? [])];
  }
}
