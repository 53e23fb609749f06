/**
 * Tells the parent process what a process holds. As a preload (`node --import`): answers the message `measure` with
 * {@link HeldFigures}, and `snapshot FILE` by writing a heap snapshot to that file.
 */
import { readdirSync } from 'node:fs';
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { writeHeapSnapshot } from 'node:v8';

/** What a process holds at one moment. */
export interface HeldFigures {
  /** Of the heap, garbage included. Bytes. */
  readonly heapUsed: number;
  /** Of the heap, with what V8 keeps free for later. Bytes. */
  readonly heapTotal: number;
  /** Of the heap after the last complete collection: what is really held. Bytes. */
  readonly heapLive: number;
  /** Memory of the objects of C++ that belong to those of the heap, array buffers included. Bytes. */
  readonly external: number;
  /** Bytes of buffers. */
  readonly arrayBuffers: number;
  /** Timers, sockets and requests that keep the event loop busy. */
  readonly handles: number;
  /** Open file descriptors. */
  readonly descriptors: number;
}

let heapLive = 0;

if (process.env['SOAK_PROBE'] === '1' && process.send) {
  const observer = new PerformanceObserver((list) => {
    const isComplete = list
      .getEntries()
      .some(
        (entry) => Reflect.get(Object(Reflect.get(entry, 'detail')), 'kind') === constants.NODE_PERFORMANCE_GC_MAJOR,
      );
    if (isComplete) heapLive = process.memoryUsage().heapUsed;
  });
  observer.observe({ entryTypes: ['gc'] });
  process.on('message', (message) => {
    const [, file] = /^snapshot (.+)$/.exec(String(message)) ?? [];
    if (file !== undefined) writeHeapSnapshot(file);
    const { heapUsed, heapTotal, external, arrayBuffers } = process.memoryUsage();
    const figures: HeldFigures = {
      heapUsed,
      heapTotal,
      heapLive,
      external,
      arrayBuffers,
      handles: process.getActiveResourcesInfo().length,
      descriptors: readdirSync('/proc/self/fd').length,
    };
    process.send?.(figures);
  });
  process.channel?.unref();
}
