import type { LokiEntry } from './entry.ts';

/** Identifies a stream: its labels as JSON, names in alphabetical order. */
export type StreamKey = string;

/** A body for `/loki/api/v1/push`, and its entries. */
export interface PushRequest {
  /** JSON text. */
  readonly body: string;
  /** Entries by index of the record. */
  readonly sent: readonly SentEntry[];
}

/** An entry and its stream. */
export interface SentEntry extends LokiEntry {
  /** Key of the stream. */
  readonly stream: StreamKey;
}

/** Renders a push: streams in the order in which they first appear, the lines of each in the order of the records. */
export function renderPush(entries: readonly LokiEntry[]): PushRequest {
  const streams = new Map<StreamKey, string[]>();
  const sent = entries.map((entry): SentEntry => {
    // The labels are already in alphabetical order.
    const stream = JSON.stringify(entry.labels);
    const values = streams.get(stream) ?? [];
    values.push(JSON.stringify([entry.ns, entry.line, entry.metadata]));
    streams.set(stream, values);
    return { ...entry, stream };
  });
  const rendered = Array.from(streams, ([stream, values]) => `{"stream":${stream},"values":[${values.join(',')}]}`);
  return { body: `{"streams":[${rendered.join(',')}]}`, sent };
}

/** Returns the labels of a stream as a text that is the same for the same labels. */
export function toStreamKey(labels: Readonly<Record<string, string>>): StreamKey {
  const names = Object.keys(labels).toSorted();
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, labels[name]])));
}
