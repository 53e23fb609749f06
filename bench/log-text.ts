import { createSeededRandom } from '../src/base/index.ts';

const BLOCK_LINES = 10_000;
/** Early enough that the last line of a gigabyte is still in the past: lines of the future are treated differently. */
const START_MS = 1_700_000_000_000;

/** From one text to the next; longer than what the lines of a text of 25 MB take. */
const PART_MS = 30 * 86_400_000;

/**
 * Creates lines as routers write them: few shapes, many numbers. bzip2 compresses them about eightfold. `part`: another
 * text for each number, with later times.
 */
export function createLogText(bytes: number, part: number = 0): Buffer {
  return Buffer.concat([...createLogBlocks(bytes, part)]);
}

/** Yields the same text in blocks. */
export function* createLogBlocks(bytes: number, part: number = 0): Generator<Buffer, void, undefined> {
  const random = createSeededRandom(1 + part);
  const startMs = START_MS + part * PART_MS;
  const upTo = (count: number) => Math.floor(random() * count);
  const address = () => `10.${upTo(256)}.${upTo(256)}.${upTo(256)}`;
  const messages = [
    () => `signal quality rsrp -${70 + upTo(50)} dBm rsrq -${5 + upTo(15)} dB sinr ${upTo(30)}`,
    () => `chain wan${1 + upTo(3)} connected, address ${address()}`,
    () =>
      `dropped IN=net${upTo(4)} SRC=${address()} DST=${address()} LEN=${40 + upTo(1400)} ID=${upTo(65536)} DPT=${upTo(65536)}`,
    () => `lease ${address()} for ${upTo(2 ** 24).toString(16)}${upTo(2 ** 24).toString(16)} on net1`,
    () => `user admin logged in from ${address()} via https`,
    () => `message ${upTo(1_000_000)} forwarded in ${upTo(100)} ms`,
  ];
  const tags = ['wan', 'lte1', 'firewall', 'dhcpd', 'webinterface', 'container'];
  for (let length = 0, second = 0; length < bytes; ) {
    const lines: string[] = [];
    for (let line = 0; line < BLOCK_LINES; line++, second += upTo(5)) {
      const time = new Date(startMs + second * 1000).toISOString().slice(0, 19).replace('T', ' ');
      lines.push(`${time} [${tags[upTo(tags.length)]}] ${messages[upTo(messages.length)]?.()}\n`);
    }
    const block = Buffer.from(lines.join('')).subarray(0, bytes - length);
    length += block.length;
    yield block;
  }
}
