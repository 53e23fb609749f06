import type { SliceBounds, Store } from '../../src/model/index.ts';

/** A store in a test. */
export interface OpenStore extends AsyncDisposable {
  readonly store: Store;
  /** Resolves with the next slice that is not `undefined`; the store may have to fetch it. */
  next(sink: string, bounds?: Partial<SliceBounds>): Promise<{ readonly lines: string[]; readonly isRepeat: boolean }>;
  /** Acknowledges the slice that {@link next} gave last for the sink. */
  acknowledge(sink: string): Promise<void>;
  /** Reads and acknowledges until a sink has got so many records. */
  take(sink: string, records: number, bounds?: Partial<SliceBounds>): Promise<string[]>;
}

/** A store with its reading, for either kind. `whenWoken` resolves when there may be more to read than now; absent = never. */
export function toOpenStore(store: Store, whenWoken?: () => Promise<void>): OpenStore {
  const read = new Map<string, NonNullable<ReturnType<Store['readSlice']>>>();
  const opened: OpenStore = {
    store,
    async next(sink, bounds = {}) {
      for (;;) {
        const woken = whenWoken?.();
        const slice = store.readSlice(sink, {
          recordsMax: 5000,
          bytesMax: 1024 * 1024,
          isWanted: () => true,
          ...bounds,
        });
        if (slice) {
          read.set(sink, slice);
          return { lines: slice.lines.map(({ text }) => text), isRepeat: slice.isRepeat };
        }
        // What is not on the disk now never comes by itself.
        if (!woken) throw new RangeError('Nothing is left to read');
        await woken;
      }
    },
    async acknowledge(sink) {
      const slice = read.get(sink);
      if (!slice) throw new TypeError('Nothing was read');
      await store.acknowledge(sink, slice.next);
    },
    async take(sink, records, bounds) {
      const lines: string[] = [];
      while (lines.length < records) {
        lines.push(...(await opened.next(sink, bounds)).lines);
        await opened.acknowledge(sink);
      }
      return lines;
    },
    [Symbol.asyncDispose]: async () => await store.close(),
  };
  return opened;
}
