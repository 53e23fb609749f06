import type { Config } from '../config/index.ts';

/** Lists the keys that differ and that a reload cannot apply. */
export function listRestartKeys(before: Config, next: Config): readonly string[] {
  const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
  return [
    ...(isSame(before.web.listen, next.web.listen) ? [] : ['web.listen']),
    ...(isSame(before.storage, next.storage) ? [] : ['storage']),
    ...(isSame(before.deadLetters, next.deadLetters) ? [] : ['dead_letters']),
  ];
}
