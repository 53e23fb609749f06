import type { Place } from './config-file.ts';

/** Whether a key of a map is written, sound or not. */
export function isWritten({ file, path }: Place, key: string): boolean {
  return file.source.valueAt([...path, key]) !== undefined;
}

/** Refuses the second of two keys of a map that mean the same. */
export function refuseBoth(map: Place, key: string, other: string): void {
  if (!isWritten(map, key) || !isWritten(map, other)) return;
  const message = `Both "${key}" and "${other}" are set; keep one of them`;
  map.file.faults.add([...map.path, other], message, { aim: 'key' });
}
