import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { ArchiveCompressor } from '../../src/simulator/archive-compressor.ts';
import { filePath, openBench } from './client.ts';

const hasBzip2 = spawnSync('bzip2', ['--help']).error === undefined;
const skipReason = hasBzip2 || process.env['REQUIRE_TOOLS'] ? '' : ' (skipped: the program bzip2 is not installed)';

/** Runs the real program on `input`. */
function bzip2(flag: string, input: Buffer) {
  const { status, stdout } = spawnSync('bzip2', [flag], { input, maxBuffer: 2 ** 28 });
  return { status, stdout };
}

describe.skipIf(skipReason !== '')(`archives and the real bzip2${skipReason}`, () => {
  test('a rotated file is a valid archive of exactly the lines that were written', async () => {
    await using bench = await openBench({ logs: { compressionMs: 0, maxSizeBytes: 0 } });
    const { access } = await bench.client.login();
    // More than the 900 kB of one bzip2 block.
    for (let line = 0; line < 20_000; line++)
      bench.router.appendLog('network', `line ${line} ${'ä'.repeat(line % 40)}`);
    bench.router.rotate('network');
    const { bytes, headers } = await bench.client.get(filePath('network/log-2026-11-21-08:00:00.bz2'), access);
    expect(headers['content-disposition']).toBe('attachment; filename=log-2026-11-21-08:00:00.bz2');
    expect(bzip2('-t', bytes).status).toBe(0);
    const written = bench.router.truth('network').slice(0, -1);
    expect(bzip2('-dc', bytes).stdout.toString().split('\n').slice(0, -1)).toEqual(written.map(({ text }) => text));
    expect(written.every(({ served }) => served)).toBe(true);
  });

  test('a growing archive fails the test of the real program', async () => {
    await using bench = await openBench({ logs: { compressionMs: 4000 } });
    const { access } = await bench.client.login();
    bench.router.appendLog('network', 'one');
    bench.router.rotate('network');
    await bench.clock.advance(3900);
    const { bytes } = await bench.client.get(filePath('network/log-2026-11-21-08:00:00.bz2'), access);
    expect(bytes.length).toBeGreaterThan(10);
    expect(bzip2('-t', bytes).status).toBeGreaterThan(0);
    expect(bench.router.truth('network')[0]?.served).toBe(false);
  });

  test.each([0, 1, 900_000])('compress() makes a valid archive of %i bytes', async (length) => {
    const compressor = new ArchiveCompressor();
    const input = Buffer.alloc(length, 'abcdefg');
    const archive = await compressor.compress(input);
    await compressor.close();
    expect(bzip2('-dc', archive)).toEqual({ status: 0, stdout: input });
  });
});

describe('ArchiveCompressor', () => {
  test('close() rejects what is being compressed', async () => {
    const compressor = new ArchiveCompressor();
    const refused = expect(compressor.compress(Buffer.alloc(5_000_000, 'x'))).rejects.toMatchObject({
      code: 'compression-failed',
    });
    await compressor.close();
    await refused;
  });

  test('compress() goes on with a fresh worker after many bytes', async () => {
    const compressor = new ArchiveCompressor();
    const small = await compressor.compress(Buffer.from('small'));
    await compressor.compress(Buffer.alloc(65 * 1024 * 1024));
    expect(await compressor.compress(Buffer.from('small'))).toEqual(small);
    await compressor.close();
  });
});
