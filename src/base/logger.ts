import { styleText } from 'node:util';
import { pino } from 'pino';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** The agent's own log. One call is one line; fields are flat and never hold secrets. */
export type Logger = Readonly<Record<LogLevel, (message: string, fields?: Readonly<Record<string, unknown>>) => void>>;

export interface LoggerOptions {
  readonly level: LogLevel;
  /** `json` for machines, `text` for a person at a terminal. */
  readonly format: 'json' | 'text';
  /** Where lines go; the product's results own stdout, so this is stderr. */
  readonly output: { write(text: string): unknown; readonly isTTY?: boolean | undefined };
  /**
   * Replaced by `[secret]` in every line, wherever they stand: the last net below the rule that nobody logs a secret. Asked
   * for every line, because a configuration that is loaded again brings others; the same list is taken for unchanged.
   */
  readonly secrets?: () => readonly string[];
}

/** A secret shorter than this would blank out ordinary words, and protects nothing. */
const SECRET_LENGTH_MIN = 6;

/** Creates the logger. */
export function createLogger(options: LoggerOptions): Logger {
  const { secrets = () => [] } = options;
  let scrubbed = secrets();
  let scrub = createScrubber(scrubbed);
  const write = (line: string) => {
    const current = secrets();
    if (current !== scrubbed) scrub = createScrubber(current);
    scrubbed = current;
    const clean = scrub(line);
    options.output.write(options.format === 'text' ? renderLine(clean, options.output.isTTY === true) : clean);
  };
  const logger = pino(
    {
      level: options.level,
      base: null,
      messageKey: 'message',
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write },
  );
  const at =
    (level: LogLevel) =>
    (message: string, fields: Readonly<Record<string, unknown>> = {}) =>
      logger[level](fields, message);
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** Takes secrets out of the values of a JSON line: as they are, and as JSON within a text writes them. */
function createScrubber(secrets: readonly string[]): (line: string) => string {
  const forms = secrets
    .filter((secret) => secret.length >= SECRET_LENGTH_MIN)
    .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)])
    // A secret may begin like another: the longer one goes first, or its rest would stay.
    .toSorted((a, b) => b.length - a.length);
  if (forms.length === 0) return (line) => line;
  const scrubValue = (_key: string, value: unknown) =>
    typeof value === 'string' ? forms.reduce((text, form) => text.replaceAll(form, '[secret]'), value) : value;
  return (line) => `${JSON.stringify(JSON.parse(line), scrubValue)}\n`;
}

const COLOURS = { debug: 'gray', info: 'green', warn: 'yellow', error: 'red' } as const;

function renderLine(line: string, isTerminal: boolean): string {
  const { level, time, message, ...fields } = JSON.parse(line) as {
    level: LogLevel;
    time: string;
    message: string;
  } & Record<string, unknown>;
  const name = level.toUpperCase().padEnd(5);
  const rest = Object.entries(fields).map(([key, value]) => ` ${key}=${renderValue(value)}`);
  const label = isTerminal ? styleText(COLOURS[level], name, { validateStream: false }) : name;
  return `${time.slice(11, 23)} ${label} ${message}${rest.join('')}\n`;
}

function renderValue(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return /[\s"=\p{Cc}]/u.test(text) ? JSON.stringify(text) : text;
}
