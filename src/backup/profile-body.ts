import { createHash, type Hash } from 'node:crypto';
import { BackupError } from './errors.ts';

/** Maximum size of a profile in bytes. Real ones are far below one megabyte. */
export const PROFILE_BYTES_MAX = 16 * 1024 * 1024;
const BEGINNING_BYTES = 256;
/** The beginning of a web page, also after a byte order mark (read as latin1), an XML declaration and comments. */
const WEB_PAGE = /^(?:\u00EF\u00BB\u00BF)?\s*(?:<\?xml[^>]*>\s*|<!--.*?-->\s*)*<(?:!doctype html|html|head|body)\b/is;

/**
 * Passes the body of a profile on as it arrives, and adds it to `digest`. Throws {@link BackupError} at the end of an
 * empty or too long body, the web page of a proxy, or an archive that ends within one of its files (a router that sends
 * no length and restarts). Any of them would evict good versions.
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

export interface Digests {
  readonly bytes: number;
  /** Of all bytes, in hexadecimal. */
  readonly sha256: string;
  /**
   * Like `sha256`, but without the times in the headers of a tar archive, so that archives of the same files made at
   * different times are equal.
   */
  readonly contentSha256: string;
}

const BLOCK_BYTES = 512;
/** Header fields (POSIX.1-1988, ustar). The header's own checksum depends on the time. */
const SIZE_FIELD = { start: 124, end: 136 };
const TYPE_FIELD = 156;
const TIME_AND_SUM_FIELDS = { start: 136, end: 156 };
const MAGIC = { start: 257, text: 'ustar' };

export class FileDigest {
  readonly #all = createHash('sha256');
  readonly #content = new TarDigest();
  #bytes = 0;

  update(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    this.#all.update(chunk);
    this.#content.update(chunk);
  }

  /** True if the bytes so far are an archive that ends within one of its files or a header. */
  get isCutOff(): boolean {
    return this.#content.isCutOff;
  }

  finish(): Digests {
    return { bytes: this.#bytes, sha256: this.#all.digest('hex'), contentSha256: this.#content.finish() };
  }
}

/** A checksum that ignores the times of a tar archive. From the first byte that is not tar, everything is included. */
class TarDigest {
  readonly #hash: Hash = createHash('sha256');
  readonly #header = Buffer.alloc(BLOCK_BYTES);
  #headerBytes = 0;
  /** Remaining bytes of the current file, including the padding of its last block. */
  #fileBytes = 0;
  #isTar = true;
  // From the first header to the end of the archive; sizes that may have no bytes behind them make it unreliable.
  #isInArchive = false;
  #isReliable = true;

  get isCutOff(): boolean {
    if (!this.#isTar || !this.#isInArchive || !this.#isReliable) return false;
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
      this.#isReliable &&= size === 0 || !mayHaveNoBytes(this.#header);
      this.#header.fill(0, TIME_AND_SUM_FIELDS.start, TIME_AND_SUM_FIELDS.end);
      this.#fileBytes = Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES;
    }
    this.#hash.update(this.#header);
    return taken;
  }
}

/** `undefined` if this is not a header. */
function readSize(header: Buffer): number | undefined {
  const magic = header.toString('latin1', MAGIC.start, MAGIC.start + MAGIC.text.length);
  const digits = header.toString('latin1', SIZE_FIELD.start, SIZE_FIELD.end).replace(/[\0 ]+$/, '');
  return magic === MAGIC.text && /^[0-7]{1,12}$/.test(digits) ? Number.parseInt(digits, 8) : undefined;
}

/** Links, devices and folders: some programs write a size for them without any bytes behind it. */
function mayHaveNoBytes(header: Buffer): boolean {
  return /[1-6]/.test(String.fromCharCode(header[TYPE_FIELD] ?? 0));
}

function isEmpty(block: Buffer): boolean {
  return block.every((byte) => byte === 0);
}
