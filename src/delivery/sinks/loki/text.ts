/** Cuts `text` to at most `bytesMax` bytes of UTF-8, between characters, and says how many bytes are gone. */
export function cutUtf8(text: string, bytesMax: number): { readonly text: string; readonly cutBytes: number } {
  // No character takes more than three bytes per unit of the text.
  if (text.length * 3 <= bytesMax) return { text, cutBytes: 0 };
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= bytesMax) return { text, cutBytes: 0 };
  let end = bytesMax;
  while (end > 0 && isContinuation(bytes[end])) end--;
  return { text: bytes.toString('utf8', 0, end), cutBytes: bytes.length - end };
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
