import { styleText } from 'node:util';
import { pino } from 'pino';

/** Replaces control characters except tabs and, if `hasLines`, line feeds by `?`: text from other systems must not control a terminal. */
export function toPrintable(text: string, hasLines = false): string {
  return text.replaceAll(hasLines ? /[^\P{Cc}\t\n]/gu : /[^\P{Cc}\t]/gu, '?');
}

/** Escapes the control characters that JSON leaves as they are and terminals act on. The JSON value stays the same. */
export function escapeForTerminal(json: string): string {
  return json.replaceAll(/[\u007f-\u009f]/g, (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`);
}

/** Levels of the agent's own log, most verbose first. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** The agent's own log. Each call writes one line; fields are flat and hold no secrets. */
export type Logger = Readonly<Record<LogLevel, (message: string, fields?: Readonly<Record<string, unknown>>) => void>>;

/** Level, format and destination of the agent's own log. */
export interface LoggerOptions {
  /** Lowest level written. */
  readonly level: LogLevel;
  /** `json` for programs, `text` for a terminal. */
  readonly format: 'json' | 'text';
  /** Normally stderr, because stdout is for the results of commands. */
  readonly output: { write(text: string): unknown; readonly isTTY?: boolean | undefined };
  /**
   * Values replaced by `[secret]` wherever they occur in a line, in case a secret is logged in spite of the rules. Called for every line,
   * because a reload may change them; the same array is assumed unchanged. Default: none.
   */
  readonly secrets?: () => readonly string[];
}

/** A shorter secret would blank out ordinary words. */
const SECRET_LENGTH_MIN = 6;

/** Creates a logger that writes one line per call to `options.output`. */
export function createLogger(options: LoggerOptions): Logger {
  const { secrets = () => [] } = options;
  let scrubbed = secrets();
  let scrub = createScrubber(scrubbed);
  const write = (line: string) => {
    const current = secrets();
    if (current !== scrubbed) scrub = createScrubber(current);
    scrubbed = current;
    const clean = escapeForTerminal(scrub(line));
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

/** Removes secrets from the values of a JSON line, verbatim and as escaped in JSON. */
function createScrubber(secrets: readonly string[]): (line: string) => string {
  const forms = secrets
    .filter((secret) => secret.length >= SECRET_LENGTH_MIN)
    .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)])
    // One secret may be the prefix of another: replace the longer one first, or its remainder would stay.
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
  const isList = Array.isArray(value) && value.every((one) => typeof one === 'string');
  const text = isList ? value.join(', ') : typeof value === 'string' ? value : JSON.stringify(value);
  return /[\s"=\p{Cc}]/u.test(text) ? escapeForTerminal(JSON.stringify(text)) : text;
}
