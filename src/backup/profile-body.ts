import { createHash, type Hash } from 'node:crypto';
import { BackupError } from './errors.ts';

/** Maximum size of a profile in bytes. Real ones are far below one megabyte; a router that sends more is broken. */
export const PROFILE_BYTES_MAX = 16 * 1024 * 1024;
/** Number of bytes examined to tell a web page from a profile. */
const BEGINNING_BYTES = 256;
/** The beginning of a web page, also behind a byte order mark (read as latin1), the declaration of XML and comments. */
const WEB_PAGE = /^(?:\u00EF\u00BB\u00BF)?\s*(?:<\?xml[^>]*>\s*|<!--.*?-->\s*)*<(?:!doctype html|html|head|body)\b/is;

/**
 * Hands on the body of a profile as it arrives, and sums it up in `digest`. Throws {@link BackupError} behind what is no whole
 * profile: an empty or too long body, the web page of a proxy, or an archive that ends within one of its files, as from a router
 * that says no length and restarts. Each of them would push out good versions.
 */
export async function* checkProfile(
  body: AsyncIterable<Uint8Array>,
  digest = new FileDigest(),
): AsyncGenerator<Uint8Array> {
  const beginning: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    if (bytes < BEGINNING_BYTES) beginning.push(chunk.slice(0, BEGINNING_BYTES - bytes));
    bytes += chunk.length;
    if (bytes > PROFILE_BYTES_MAX) {
      throw new BackupError('too-large', `The profile is larger than ${PROFILE_BYTES_MAX} bytes`, {
        disposition: 'skip',
      });
    }
    digest.update(chunk);
    yield chunk;
  }
  checkBeginning(Buffer.concat(beginning).toString('latin1'));
  if (digest.isCutOff) {
    throw new BackupError('cut-off', 'The router sent only the beginning of the profile', { disposition: 'retry' });
  }
}

function checkBeginning(text: string): void {
  if (text === '') throw new BackupError('empty', 'The router sent an empty profile', { disposition: 'retry' });
  if (WEB_PAGE.test(text)) {
    throw new BackupError('not-a-profile', 'The router sent a web page instead of the profile', {
      disposition: 'retry',
      hint: 'Check that the url of this router leads to its REST interface and not to a login page',
    });
  }
}

/** Size and checksums of a file. */
export interface Digests {
  readonly bytes: number;
  /** Checksum of all bytes, in hexadecimal. */
  readonly sha256: string;
  /**
   * Checksum of all bytes except the times in the headers of a tar archive, so that archives of the same files made at
   * different times are equal; same as `sha256` for every other file.
   */
  readonly contentSha256: string;
}

const BLOCK_BYTES = 512;
/**
 * Fields of the header (POSIX.1-1988, ustar): size, modification time, and the header's own checksum, which depends on
 * the time.
 */
const SIZE_FIELD = { start: 124, end: 136 };
const TYPE_FIELD = 156;
const TIME_AND_SUM_FIELDS = { start: 136, end: 156 };
const MAGIC = { start: 257, text: 'ustar' };

/** Computes {@link Digests} of a file piece by piece. */
export class FileDigest {
  readonly #all = createHash('sha256');
  readonly #content = new TarDigest();
  #bytes = 0;

  update(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    this.#all.update(chunk);
    this.#content.update(chunk);
  }

  /** True if the bytes so far are an archive that ends within one of its files, or within a header. */
  get isCutOff(): boolean {
    return this.#content.isCutOff;
  }

  finish(): Digests {
    return { bytes: this.#bytes, sha256: this.#all.digest('hex'), contentSha256: this.#content.finish() };
  }
}

/**
 * A checksum that ignores the times of a tar archive. From the first byte that does not look like one, everything is
 * included as is.
 */
class TarDigest {
  readonly #hash: Hash = createHash('sha256');
  readonly #header = Buffer.alloc(BLOCK_BYTES);
  #headerBytes = 0;
  /** Remaining bytes of the current file in the archive, including the padding of its last block. */
  #fileBytes = 0;
  #isTar = true;
  /** True from the first header to the end of the archive, as long as all sizes are surely those of what follows. */
  #isInArchive = false;
  #isSure = true;

  /** True if more has to follow. */
  get isCutOff(): boolean {
    if (!this.#isTar || !this.#isInArchive || !this.#isSure) return false;
    // A part of the empty blocks at the end is no header.
    return this.#fileBytes > 0 || !isEmpty(this.#header.subarray(0, this.#headerBytes));
  }

  update(chunk: Uint8Array): void {
    let rest = chunk;
    while (rest.length > 0) {
      const taken = this.#isTar && this.#fileBytes === 0 ? this.#takeHeader(rest) : this.#takeFile(rest);
      rest = rest.subarray(taken);
    }
  }

  finish(): string {
    return this.#hash.update(this.#header.subarray(0, this.#headerBytes)).digest('hex');
  }

  #takeFile(bytes: Uint8Array): number {
    const taken = this.#isTar ? Math.min(bytes.length, this.#fileBytes) : bytes.length;
    if (this.#isTar) this.#fileBytes -= taken;
    this.#hash.update(bytes.subarray(0, taken));
    return taken;
  }

  #takeHeader(bytes: Uint8Array): number {
    const taken = Math.min(bytes.length, BLOCK_BYTES - this.#headerBytes);
    this.#header.set(bytes.subarray(0, taken), this.#headerBytes);
    this.#headerBytes += taken;
    if (this.#headerBytes < BLOCK_BYTES) return taken;
    this.#headerBytes = 0;
    const size = readSize(this.#header);
    if (size === undefined) {
      this.#isTar = isEmpty(this.#header);
      this.#isInArchive = false;
    } else {
      this.#isInArchive = true;
      this.#isSure &&= size === 0 || !mayHaveNoBytes(this.#header);
      this.#header.fill(0, TIME_AND_SUM_FIELDS.start, TIME_AND_SUM_FIELDS.end);
      this.#fileBytes = Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES;
    }
    this.#hash.update(this.#header);
    return taken;
  }
}

/** Returns the size of the file that follows; `undefined` if this is not a header. */
function readSize(header: Buffer): number | undefined {
  const magic = header.toString('latin1', MAGIC.start, MAGIC.start + MAGIC.text.length);
  const digits = header.toString('latin1', SIZE_FIELD.start, SIZE_FIELD.end).replace(/[\0 ]+$/, '');
  return magic === MAGIC.text && /^[0-7]{1,12}$/.test(digits) ? Number.parseInt(digits, 8) : undefined;
}

/** Returns true for a link, a device or a folder, whose size some programs write without any bytes behind it. */
function mayHaveNoBytes(header: Buffer): boolean {
  return /[1-6]/.test(String.fromCharCode(header[TYPE_FIELD] ?? 0));
}

function isEmpty(block: Buffer): boolean {
  return block.every((byte) => byte === 0);
}
