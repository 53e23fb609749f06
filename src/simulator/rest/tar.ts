const BLOCK_BYTES = 512;

/** One file of an archive. */
export interface TarFile {
  /** At most 100 bytes. */
  readonly name: string;
  readonly bytes: Buffer;
}

/**
 * Creates a POSIX (ustar) archive. `modifiedMs` is the modification time of all files, in milliseconds since the Unix
 * epoch.
 */
export function renderTar(files: readonly TarFile[], modifiedMs: number): Buffer {
  const blocks = files.flatMap(({ name, bytes }) => [
    renderHeader(name, bytes.length, modifiedMs),
    bytes,
    Buffer.alloc((BLOCK_BYTES - (bytes.length % BLOCK_BYTES)) % BLOCK_BYTES),
  ]);
  // Two empty blocks end an archive.
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK_BYTES)]);
}

function renderHeader(name: string, size: number, modifiedMs: number): Buffer {
  const header = Buffer.alloc(BLOCK_BYTES);
  header.write(name, 0, 100);
  header.write(octal(0o644, 7), 100);
  header.write(octal(0, 7), 108);
  header.write(octal(0, 7), 116);
  header.write(octal(size, 11), 124);
  header.write(octal(Math.max(0, Math.floor(modifiedMs / 1000)), 11), 136);
  header.write('        ', 148);
  header.write('0', 156);
  header.write('ustar\u000000', 257);
  let sum = 0;
  for (const byte of header) sum += byte;
  header.write(`${octal(sum, 6)}\u0000 `, 148);
  return header;
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0');
}
