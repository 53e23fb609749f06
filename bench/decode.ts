/**
 * Measures the speed of archive decoding.
 *
 *   npx node bench/decode.ts [folder with node_modules of seek-bzip and unbzip2-stream]
 *   npx node bench/decode.ts --bz2       npm `bz2` alone
 *
 * Takes two to four minutes, most of them for npm `bz2`. Prints Markdown for RESULTS.md. Requires bash and bzip2; other missing programs are skipped:
 * lbzip2 (apt-get install lbzip2), the npm decoders (npm i --prefix <folder> seek-bzip@2.0.0 unbzip2-stream@1.4.3).
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Bzip2Decoder } from '../src/logs/archive/bzip2/decoder.ts';
import { Bzip2Workspace } from '../src/logs/archive/bzip2/stream-parser.ts';
import { type Contender, contest, describeMachine, findCommand, measureHere, print, printResults } from './contest.ts';
import { createLogText } from './log-text.ts';
import { decodeWithBz2 } from './npm-bz2.ts';
import { cut, findNpmDecoders } from './npm-decoders.ts';

const TEXT_BYTES = 25_000_000;
const ROUNDS = 7;
const LOG_FILE_BYTES = 1024 * 1024;
/** Fewer rounds for npm `bz2`, because it is slow. */
const BZ2_ROUNDS = 2;
/** Many times what it needs; it is killed after that. */
const BZ2_LIMIT_MS = 10 * 60_000;
const LIMITS = { outputBytesMax: 2 ** 31 };

/** Throws unless the number of decoded bytes is as expected. */
async function expectBytes(items: AsyncIterable<unknown>, expected: number): Promise<void> {
  let bytes = 0;
  for await (const item of items) if (item instanceof Uint8Array) bytes += item.length;
  if (bytes !== expected) throw new RangeError(`${bytes} bytes came out, not ${expected}`);
}

const workspace = new Bzip2Workspace();

async function* decodeHere(archive: Uint8Array): AsyncGenerator<NonNullable<ReturnType<Bzip2Decoder['read']>>> {
  const decoder = new Bzip2Decoder(LIMITS, workspace);
  for (const chunk of cut(archive)) {
    decoder.push(chunk);
    for (let item = decoder.read(); item !== undefined; item = decoder.read()) yield item;
  }
  decoder.end();
  for (let item = decoder.read(); item !== undefined; item = decoder.read()) yield item;
}

async function compareSpeed(archive: Buffer, folder: string, peers: string | undefined): Promise<void> {
  const env = { ARCHIVE: join(folder, 'log.bz2') };
  writeFileSync(env.ARCHIVE, archive);
  const contenders: Contender[] = [
    ...(await findCommand('`bzip2 -dc`', ['bzip2'], 'bzip2 -dc "$ARCHIVE"', env)),
    ...(await findCommand('`lbzip2 -dc -n1`', ['lbzip2'], 'lbzip2 -dc -n1 < "$ARCHIVE"', env)),
    ...(await findCommand('`lbzip2 -dc -n2`', ['lbzip2'], 'lbzip2 -dc -n2 < "$ARCHIVE"', env)),
    ...findNpmDecoders(peers).map(({ name, decode }) => ({
      name,
      run: () => measureHere(() => expectBytes(decode(archive), TEXT_BYTES)),
    })),
    {
      name: '`Bzip2Decoder`, this thread',
      run: () => measureHere(() => expectBytes(decodeHere(archive), TEXT_BYTES)),
    },
  ];
  printResults('Decoder', await contest(contenders, ROUNDS), TEXT_BYTES);
}

async function compareWithBz2(archive: Buffer, text: Buffer, folder: string): Promise<void> {
  const file = join(folder, 'bz2.bz2');
  const decode = (bytes: Buffer, checksum: boolean) => {
    writeFileSync(file, bytes);
    return decodeWithBz2(file, { checksum, limitMs: BZ2_LIMIT_MS });
  };
  const contenders: Contender[] = [
    {
      name: '`Bzip2Decoder`, this thread',
      run: () => measureHere(() => expectBytes(decodeHere(archive), TEXT_BYTES)),
    },
    {
      name: 'npm `bz2` without its checksum, a process',
      async run() {
        const { bytes, error, seconds } = await decode(archive, false);
        if (bytes !== TEXT_BYTES) throw new RangeError(`npm bz2: ${error ?? `${bytes} bytes came out`}`);
        return seconds;
      },
    },
  ];
  printResults('Decoder', await contest(contenders, BZ2_ROUNDS), TEXT_BYTES);

  const part = text.subarray(0, LOG_FILE_BYTES);
  const whole = execFileSync('bzip2', ['-c'], { input: part });
  const expected = { text: sha256(part), twice: sha256(Buffer.concat([part, part])) };
  const describe = ({ sha, error }: { readonly sha?: string | undefined; readonly error?: string | undefined }) =>
    error ?? (sha === expected.text ? 'the text' : sha === expected.twice ? 'the text twice' : 'other text, no error');
  const flip = (at: number) => {
    const bytes = Buffer.from(whole);
    bytes[at] = (bytes[at] ?? 0) ^ 4;
    return bytes;
  };
  const inputs: readonly (readonly [string, Buffer])[] = [
    ['as it is', whole],
    ['a second stream behind it', Buffer.concat([whole, whole])],
    ['one bit changed in the middle', flip(whole.length >> 1)],
    ['one bit changed in the checksum of the stream', flip(whole.length - 3)],
    ['cut in the middle', whole.subarray(0, whole.length >> 1)],
  ];
  print('', `What comes out of an archive of ${whole.length} bytes with ${part.length} bytes of text:`, '');
  print('| Archive | npm `bz2` | npm `bz2` with its checksum | `Bzip2Decoder` |', '|---|---|---|---|');
  for (const [name, bytes] of inputs) {
    const theirs = [await decode(bytes, false), await decode(bytes, true)];
    print(`| ${[name, ...[...theirs, await tryHere(bytes)].map(describe)].join(' | ')} |`);
  }
  print('');
}

async function tryHere(archive: Buffer): Promise<{ readonly sha?: string; readonly error?: string }> {
  const parts: Uint8Array[] = [];
  const losses: string[] = [];
  try {
    for await (const item of decodeHere(archive)) {
      if (item instanceof Uint8Array) parts.push(item.slice());
      else if (item.kind !== 'end') losses.push(item.kind);
    }
  } catch (thrown) {
    losses.push(String(thrown));
  }
  return losses.length > 0 ? { error: losses.join(', ') } : { sha: sha256(Buffer.concat(parts)) };
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

const [mode] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'decode-'));
try {
  const text = createLogText(TEXT_BYTES);
  const archive = execFileSync('bzip2', ['-c'], { input: text, maxBuffer: TEXT_BYTES });
  const sizes = `${TEXT_BYTES / 1e6} MB of log text, ${(archive.length / 1e6).toFixed(1)} MB compressed; ${ROUNDS} rounds, ${BZ2_ROUNDS} with npm \`bz2\``;
  print(`${describeMachine()}; ${sizes}.`, '');
  await compareWithBz2(archive, text, folder);
  if (mode !== '--bz2') await compareSpeed(archive, folder, mode);
} finally {
  rmSync(folder, { recursive: true });
}
