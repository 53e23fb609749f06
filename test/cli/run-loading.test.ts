import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { runCommand } from './run-command.ts';

test('run reads long files in place before it serves, and in a thread, which ends, when it reloads', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-run-loading-'));
  const router = (index: number) =>
    `- { name: r${index}, url: "http://127.0.0.1:${index + 1}", auth: none, state: paused }\n`;
  await writeFile(join(folder.path, 'routers.yaml'), Array.from({ length: 100 }, (_, index) => router(index)).join(''));
  const file = join(folder.path, 'router-exporter.yaml');
  await writeFile(file, 'router_files: [routers.yaml]\nweb: { listen: ["127.0.0.1:0"] }\n');

  const threads: string[] = [];
  const ends: Promise<unknown>[] = [];
  const note = (worker: Worker) => {
    threads.push(worker.threadName ?? '');
    ends.push(new Promise((resolve) => worker.once('exit', resolve)));
  };
  process.on('worker', note);
  try {
    const stop = new AbortController();
    const started = Promise.withResolvers<string>();
    const onStderr = (text: string) => {
      const { message, urls } = JSON.parse(text) as { readonly message: string; readonly urls?: readonly string[] };
      if (message === 'Started' && urls?.[0] !== undefined) started.resolve(urls[0]);
    };
    const flags = ['--config.file', file, '--storage.path', folder.path, '--web.enable-lifecycle'];
    const ended = runCommand(['run', ...flags], { signal: stop.signal, onStderr });
    void ended.then(({ stderr }) => started.reject(new RangeError(stderr)));
    const url = await started.promise;
    expect(threads).toEqual([]);
    expect((await fetch(new URL('/-/reload', url), { method: 'POST' })).status).toBe(200);
    expect(threads).toEqual(['yaml']);
    await Promise.all(ends);
    stop.abort();
    expect(await ended).toMatchObject({ code: 0 });
  } finally {
    process.off('worker', note);
  }
});
