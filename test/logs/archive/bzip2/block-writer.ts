/** One block, field by field, so that a test can say what no writer would. Defaults make the archive of the letter `a`. */
export interface BlockFields {
  readonly level?: string;
  readonly crc?: number;
  readonly randomised?: number;
  readonly origin?: number;
  /** The byte values used. */
  readonly used?: readonly number[];
  readonly tableCount?: number;
  /** Which table each group takes, as places in the list of tables used last. */
  readonly selectors?: readonly number[];
  /** Bits of each symbol's code: two run symbols, one per byte value but the first, end of block. */
  readonly lengths?: readonly number[];
  /** Bits to write in place of the tables. */
  readonly tables?: string;
  /** Codes of the symbols, as bits. */
  readonly symbols?: string;
  readonly streamCrc?: number;
}

const BLOCK_MAGIC = 0x314159265359;
const END_MAGIC = 0x177245385090;
/** CRC of the one byte `a`, as bzip2 counts it. */
export const CRC_OF_A = 0x19939b6b;

/** Writes an archive of one block. */
export function writeArchive(fields: BlockFields = {}): Buffer {
  const { level = '9', crc = CRC_OF_A, randomised = 0, origin = 0, used = [0x61], tableCount = 2 } = fields;
  // RUNA 0, RUNB 10, end of block 11.
  const { selectors = [0], lengths = [1, 2, 2], symbols = '011', streamCrc = crc } = fields;
  const { tables = renderTable(lengths).repeat(tableCount) } = fields;
  const rows = Array.from({ length: 16 }, (_, row) => used.filter((value) => value >> 4 === row));
  const bits = [
    ...Array.from(`BZh${level}`, (character) => render(character.charCodeAt(0), 8)),
    render(BLOCK_MAGIC, 48),
    render(crc, 32),
    render(randomised, 1),
    render(origin, 24),
    ...rows.map((row) => (row.length > 0 ? '1' : '0')),
    ...rows.filter((row) => row.length > 0).map((row) => renderColumns(row)),
    render(tableCount, 3),
    render(selectors.length, 15),
    ...selectors.map((place) => `${'1'.repeat(place)}0`),
    tables,
    symbols,
    render(END_MAGIC, 48),
    render(streamCrc, 32),
  ].join('');
  const padded = bits.padEnd(Math.ceil(bits.length / 8) * 8, '0');
  return Buffer.from(
    Array.from({ length: padded.length / 8 }, (_, at) => Number.parseInt(padded.slice(at * 8, at * 8 + 8), 2)),
  );
}

/** A table as it stands in a block: the first length, then the way from each to the next. */
export function renderTable(lengths: readonly number[]): string {
  const first = lengths[0] ?? 0;
  let from = first;
  const steps = lengths.map((length) => {
    const way = (length > from ? '10' : '11').repeat(Math.abs(length - from));
    from = length;
    return `${way}0`;
  });
  return render(first, 5) + steps.join('');
}

function render(value: number, bits: number): string {
  return value.toString(2).padStart(bits, '0');
}

function renderColumns(row: readonly number[]): string {
  return Array.from({ length: 16 }, (_, column) => (row.some((value) => (value & 15) === column) ? '1' : '0')).join('');
}
