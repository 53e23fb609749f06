import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { LogRecord } from '../../../src/model/index.ts';
import { EmbeddedStore } from '../../../src/store/index.ts';
import { gapsOf, linesOf, MINUTE_MS, messagesOf, openLogBench, SECOND_MS } from '../../support/log-bench.ts';
import { drain, toStarts } from '../../support/store-folder.ts';

/** Takes everything that is spooled, as a sink that works again. */
function takeAll(store: EmbeddedStore): LogRecord[] {
  return drain(store, 'a').map((line) => JSON.parse(line) as LogRecord);
}

test('case 75: while a sink is out the spool fills and reading stops; what the router deletes meanwhile is a gap, and the rest comes in order', async () => {
  const path = await mkdtemp(join(tmpdir(), 'router-exporter-outage-'));
  try {
    using store = new EmbeddedStore({ path, sinks: toStarts(['a']), spoolBytesMax: 2500, now: () => 0 });
    await using bench = await openLogBench({
      simulator: { logs: { compressionMs: 0, maxFiles: 3 } },
      runs: { records: store },
    });
    let isFull = false;
    for (let file = 0; file < 12; file++) {
      for (let line = 0; line < 20; line++) bench.router.appendLog('network', `${file}/${line} ${line * 7919 ** 2}`);
      await bench.clock.advance(2 * MINUTE_MS);
      bench.router.rotate('network', `first of ${file + 1}`);
      try {
        await bench.reader.run();
      } catch (cause) {
        expect(cause).toMatchObject({ code: 'full', disposition: 'hold-back' });
        isFull = true;
      }
    }
    expect(isFull).toBe(true);
    const before = takeAll(store);
    const after: LogRecord[] = [];
    for (let run = 0; run < 40; run++) {
      await bench.reader.run().catch(() => {});
      after.push(...takeAll(store));
      await bench.clock.advance(30 * SECOND_MS);
    }
    const all = [...before, ...after];
    const lines = messagesOf(linesOf(all));
    const written = bench.router
      .truth('network')
      .map(({ text }) => text.slice('YYYY-MM-DD hh:mm:ss [network] '.length));
    expect(lines.length).toBeLessThan(written.length);
    // In order, each once, and none that the router still has is missing.
    expect(lines).toEqual(written.filter((line) => lines.includes(line)));
    expect(new Set(lines).size).toBe(lines.length);
    const kept = bench.router.truth('network').filter(({ loss }) => loss === undefined);
    expect(lines.slice(-kept.length)).toEqual(written.slice(-kept.length));
    expect(gapsOf(all)[0]).toMatchObject({ details: { certainty: 'certain', reason: 'expired' } });
    expect(gapsOf(all)).toHaveLength(bench.reader.count('log-gap-found'));
  } finally {
    await rm(path, { recursive: true, force: true });
  }
});
