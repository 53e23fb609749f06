import { readdir, readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';

/** The records of a file and of those that it was rotated to, oldest first. */
export async function readRotatedRecords(path: string): Promise<{ uid: string }[]> {
  const [current = '', ...rotated] = (await readdir(dirname(path)))
    .filter((name) => name.startsWith(basename(path)))
    .toSorted();
  const texts: string[] = [];
  for (const name of [...rotated, current]) {
    const bytes = await readFile(join(dirname(path), name));
    texts.push((name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString());
  }
  const lines = texts.join('').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as { uid: string });
}
