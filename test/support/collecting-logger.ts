import type { Logger } from '../../src/base/index.ts';

/** One line of the agent's own log. */
export interface OwnLine {
  readonly level: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A logger that adds each line to `lines`. */
export function createCollectingLogger(lines: OwnLine[]): Logger {
  const at =
    (level: string) =>
    (message: string, fields: Readonly<Record<string, unknown>> = {}) =>
      void lines.push({ level, message, fields });
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
