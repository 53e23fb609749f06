import { BackupError } from './errors.ts';
import { FileDigest } from './file-digest.ts';

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
