/**
 * Reads a body up to `bytesMax` bytes. One that is longer is cut there, and its connection ended, with what is still to
 * come. Throws what the body throws, and the reason of `signal`.
 */
export async function readBounded(
  body: AsyncIterable<Uint8Array>,
  bytesMax: number,
  signal: AbortSignal,
): Promise<{ readonly bytes: Buffer; readonly isCut: boolean }> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  // Leaving the loop early ends the connection.
  for await (const chunk of body) {
    signal.throwIfAborted();
    chunks.push(chunk);
    length += chunk.length;
    if (length > bytesMax) break;
  }
  return { bytes: Buffer.concat(chunks, Math.min(length, bytesMax)), isCut: length > bytesMax };
}
