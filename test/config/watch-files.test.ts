import { mkdir, mkdtemp, rename, rm, symlink, unlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Clock, createSteppedClock } from '../../src/base/index.ts';
import { loadConfig, type WatchOptions, watchFiles } from '../../src/config/index.ts';

describe('watchFiles()', () => {
  let folder = '';
  let abort = new AbortController();
  const stepped = createSteppedClock(0);
  const state = { sleeping: 0 };
  /** Knows when the watch has done its work and waits again. */
  const clock: Clock = {
    ...stepped,
    async sleep(durationMs, signal) {
      state.sleeping++;
      try {
        await stepped.sleep(durationMs, signal);
      } finally {
        state.sleeping--;
      }
    },
  };
  let changes = 0;
  let watch: Promise<void> = Promise.resolve();

  const settle = async () => {
    while (state.sleeping === 0 && !abort.signal.aborted) await setImmediate();
  };
  const file = (name: string) => join(folder, name);
  const write = (name: string, text: string) => writeFile(file(name), text);

  /** How often a change was reported in this time. */
  async function changesAfter(durationMs: number): Promise<number> {
    const before = changes;
    await stepped.advance(durationMs, settle);
    return changes - before;
  }

  async function start(options: Partial<WatchOptions> = {}): Promise<void> {
    watch = watchFiles({
      patterns: [file('r/*.yaml'), file('one.yaml')],
      clock,
      signal: abort.signal,
      onChange: () => void changes++,
      ...options,
    });
    await settle();
  }

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'router-exporter-watch-'));
    abort = new AbortController();
    changes = 0;
    await mkdir(file('r'));
    await write('r/a.yaml', '[]');
    await write('one.yaml', '[]');
  });
  afterEach(async () => {
    abort.abort();
    await watch;
    await rm(folder, { recursive: true });
  });

  it('reports nothing while nothing changes, also when a file is touched or rewritten with the same content', async () => {
    await start();
    expect(await changesAfter(30_000)).toBe(0);
    await utimes(file('r/a.yaml'), 1, 1);
    await write('one.yaml', '[]');
    expect(await changesAfter(30_000)).toBe(0);
  });

  it.each([
    ['is written', () => write('r/a.yaml', '[1]')],
    ['is written with as many bytes', () => write('r/a.yaml', '{}')],
    ['is added', () => write('r/b.yaml', '[]')],
    ['is removed', () => unlink(file('r/a.yaml'))],
    ['is removed with its folder', () => rm(file('r'), { recursive: true })],
    ['of a path is removed', () => unlink(file('one.yaml'))],
    [
      'is replaced by renaming',
      async () => {
        await write('r/new', '{}');
        await rename(file('r/new'), file('r/a.yaml'));
      },
    ],
  ])('reports once that a file %s', async (_, change) => {
    await start();
    await changesAfter(20_000);
    await change();
    expect(await changesAfter(4_999)).toBe(0);
    expect(await changesAfter(1001)).toBe(1);
    expect(await changesAfter(30_000)).toBe(0);
  });

  it('does not look at files that fit none of its patterns', async () => {
    await start();
    await write('r/b.txt', 'x');
    await write('r/.hidden.yaml', 'x');
    expect(await changesAfter(30_000)).toBe(0);
  });

  it('sees a link moved, as Kubernetes replaces all files at once', async () => {
    await mkdir(file('r/..1'));
    await mkdir(file('r/..2'));
    await write('r/..1/k.yaml', '[1]');
    await write('r/..2/k.yaml', '[2]');
    await symlink('..1', file('r/..data'));
    await symlink('..data/k.yaml', file('r/k.yaml'));
    await start();
    await changesAfter(20_000);
    await symlink('..2', file('r/..new'));
    await rename(file('r/..new'), file('r/..data'));
    await rm(file('r/..1'), { recursive: true });
    expect(await changesAfter(6000)).toBe(1);
  });

  it('waits until a file that is being written has come to rest', async () => {
    await start();
    await write('r/a.yaml', '[1');
    expect(await changesAfter(5000)).toBe(0);
    await write('r/a.yaml', '[1,');
    expect(await changesAfter(1000)).toBe(0);
    await write('r/a.yaml', '[1, 2]');
    expect(await changesAfter(1000)).toBe(0);
    expect(await changesAfter(1000)).toBe(1);
  });

  it('forgets a change that was taken back', async () => {
    await start();
    await write('r/a.yaml', '[1]');
    await changesAfter(5000);
    await write('r/a.yaml', '[]');
    expect(await changesAfter(30_000)).toBe(0);
  });

  it('does not wait for ever for a file that changes all the time', async () => {
    await start();
    let looks = 0;
    for (let reported = 0; reported === 0 && looks < 20; looks++) {
      await write('r/a.yaml', `[${looks}]`);
      reported = await changesAfter(looks === 0 ? 5000 : 1000);
    }
    expect(looks).toBe(6);
  });

  it('reports a change between loading and the first check', async () => {
    await write('main.yaml', 'router_files: ["r/*.yaml"]');
    const { watched } = await loadConfig(file('main.yaml'), {});
    await write('r/a.yaml', '# later\n[]');
    await start(watched);
    expect(await changesAfter(6000)).toBe(1);
  });

  it('reports nothing when files are as they were loaded, readable or not', async () => {
    await write('main.yaml', 'router_files: ["r/*.yaml", one.yaml]');
    await writeFile(file('r/b.yaml'), Uint8Array.of(0xff));
    await symlink('nowhere', file('r/c.yaml'));
    await write('r/d.yaml', '\ufeff[]');
    const { watched } = await loadConfig(file('main.yaml'), {});
    expect(watched.digests.size).toBe(5);
    await start(watched);
    expect(await changesAfter(30_000)).toBe(0);
  });

  it('waits for its listener, and continues when that fails', async () => {
    const first = Promise.withResolvers<void>();
    let calls = 0;
    await start({
      onChange: () => {
        calls++;
        state.sleeping++;
        return first.promise.finally(() => void state.sleeping--);
      },
    });
    await write('r/a.yaml', '[1]');
    await stepped.advance(6000, settle);
    await write('r/a.yaml', '[2]');
    await stepped.advance(30_000, settle);
    expect(calls).toBe(1);
    first.reject(new TypeError('Not today'));
    await setImmediate();
    await settle();
    await stepped.advance(6000, settle);
    expect(calls).toBe(2);
  });

  it('checks at the given interval, and ends when its signal is aborted', async () => {
    await start({ intervalMs: 500 });
    await write('r/a.yaml', '[1]');
    expect(await changesAfter(1000)).toBe(1);
    await write('r/a.yaml', '[2]');
    abort.abort();
    await expect(watch).resolves.toBeUndefined();
    expect(await changesAfter(5000)).toBe(0);
  });

  it('reports nothing more when its signal is aborted during a check', async () => {
    let isLast = false;
    const aborting: Clock = {
      ...clock,
      async sleep(durationMs, signal) {
        await clock.sleep(durationMs, signal);
        // After the look has begun, and before the first file has been looked at.
        if (isLast) void setImmediate().then(() => abort.abort());
      },
    };
    await start({ clock: aborting });
    await write('r/a.yaml', '[1]');
    await changesAfter(5000);
    isLast = true;
    await stepped.advance(1000, settle);
    await watch;
    expect(changes).toBe(0);
  });

  it('does not begin when its signal is aborted already', async () => {
    abort.abort();
    await expect(watchFiles({ patterns: [], clock, signal: abort.signal, onChange: () => {} })).resolves.toBe(
      undefined,
    );
  });
});
