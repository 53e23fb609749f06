import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ArchiveCompressor } from '../../src/simulator/archives/archive-compressor.ts';
import { encodeBzip2 } from '../../src/simulator/archives/encode.ts';
import { createLog, createNoise, findMarks } from '../support/archives.ts';
import { countRuns } from '../support/sampled.ts';
import { withPrograms } from '../support/tools.ts';
import { filePath, openBench } from './client.ts';

/** Runs the real program on `input`. */
function bzip2(flag: string, input: Buffer) {
  const { status, stdout } = spawnSync('bzip2', [flag], { input, maxBuffer: 2 ** 28 });
  return { status, stdout };
}

withPrograms(['bzip2'], describe)('archives and the real bzip2', () => {
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

  test('encodeBzip2() writes what the real program reads, whatever the content', () => {
    const few = fc.uint8Array({ maxLength: 400, max: 2 });
    const runs = fc
      .array(fc.tuple(fc.nat(255), fc.integer({ min: 1, max: 600 })), { maxLength: 20 })
      .map((pieces) => Buffer.concat(pieces.map(([byte, length]) => Buffer.alloc(length, byte))));
    const repeated = fc
      .tuple(fc.uint8Array({ minLength: 1, maxLength: 20 }), fc.integer({ min: 1, max: 3000 }))
      .map(([piece, length]) => Buffer.alloc(length, piece));
    const anything = fc.uint8Array({ maxLength: 3000 });
    fc.assert(
      fc.property(fc.oneof(few, runs, repeated, anything), (content) => {
        const input = Buffer.from(content);
        expect(bzip2('-dc', Buffer.from(encodeBzip2(input)))).toEqual({ status: 0, stdout: input });
      }),
      { numRuns: countRuns(150) },
    );
  });

  test.for([1, 9])('encodeBzip2() writes blocks of the size asked for, one behind the other: level %i', (level) => {
    const input = Buffer.concat([createLog(100_000 * level), Buffer.alloc(1000), createNoise(50_000)]);
    const archive = encodeBzip2(input, level);
    expect(findMarks(archive).blocks).toHaveLength(2);
    expect(bzip2('-dc', Buffer.from(archive))).toEqual({ status: 0, stdout: input });
  });

  test('encodeBzip2() makes archives of log text about as small as the real program does', () => {
    const text = Array.from({ length: 30_000 }, (_, line) => `wan${line % 3}: check ${(line * 7919) % 1000} failed\n`);
    const input = Buffer.from(text.join(''));
    expect(encodeBzip2(input).length).toBeLessThan(bzip2('-c', input).stdout.length * 1.05);
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
});
