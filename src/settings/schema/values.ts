import { z } from 'zod';
import { parseByteSize, parseDuration, renderDuration, Secret } from '../../base/index.ts';
import type { SecretKind } from '../files/secret-keeper.ts';

/** Longest path that Linux takes; longer than any user name or host name. */
export const TEXT_CHARS_MAX = 4096;
/** Shorter than a round trip to a router, so certainly a wrong unit. */
export const DURATION_MS_MIN = 100;
/** A week; `setTimeout` supports at most 24 days. */
const DURATION_MS_MAX = 7 * 86_400_000;
/** A smaller spool would be full after the first archive. */
const SPOOL_BYTES_LEAST = 1024 ** 2;
/** Less does not suffice for one day's logins. */
const BYTE_BUDGET_LEAST = 64 * 1024;

/**
 * `secret`: a secret. `possible`: an operator may put a secret there by mistake, as in a URL. `path`: a file name,
 * where an operator may put the secret itself. Messages repeat none of them, except what can only be a file name.
 */
type Secrecy = 'secret' | 'possible' | 'path';

export const SECRECIES = z.registry<{ readonly secrecy: Secrecy }>();

/** Marks a schema whose values messages never repeat. This is the only list of such keys. */
export function withSecrecy<Schema extends z.core.$ZodType>(secrecy: Secrecy, schema: Schema): Schema {
  SECRECIES.add(schema, { secrecy });
  return schema;
}

/** What a path stands for: itself made absolute, the content of a file, or a secret. */
export type Content = 'path' | 'certificates' | 'private key' | SecretKind;

const CONTENTS = z.registry<{ readonly content: Content }>();

/** Marks a schema whose values name something, which replaces them in the settings. */
export function withContent<Schema extends z.core.$ZodType>(content: Content, schema: Schema): Schema {
  CONTENTS.add(schema, { content });
  return schema;
}

/** Returns what the values of a schema name; `undefined` if they are the settings themselves. */
export function findContent(schema: z.core.$ZodType): Content | undefined {
  return CONTENTS.get(schema)?.content;
}

/**
 * Kinds of values; see also names.ts and addresses.ts. The message of an issue is always a phrase that completes
 * "Expected …"; check-settings.ts adds what was found. Descriptions and defaults are on the inner schema, the one that
 * JSON Schema shows.
 */

/** Description of a key, and its default as written. */
export type About = {
  readonly description: string;
  readonly default?: string | number | boolean | readonly string[];
  /**
   * Name of the type in the reference. Default: that of the kind of value. `undocumented`: not in the reference;
   * `unsupported`: rejected.
   */
  readonly kind?: string;
  /** Seldom set: in a second table of the reference. */
  readonly advanced?: boolean;
};

/** Schema of a map of keys. Unknown keys are rejected. */
export function section<Shape extends z.core.$ZodLooseShape>(description: string, shape: Shape) {
  return z.strictObject(shape, { error: 'a map of keys' }).meta({ description });
}

const TEXT = `text of 1 to ${TEXT_CHARS_MAX} characters (a number needs quotes)`;

/** Schema of text that is not empty. */
export function text(about: About) {
  return z
    .string({ error: TEXT })
    .min(1, { error: TEXT })
    .max(TEXT_CHARS_MAX, { error: TEXT })
    .refine((value) => !value.includes('\0'), { error: 'text without NUL characters' })
    .meta({ kind: 'text', ...about });
}

/** Schema of a path, which becomes absolute. */
export function absolutePath(about: About) {
  return withContent('path', text({ kind: 'path', ...about }));
}

/** Schema of the path of a file with certificates. */
export function certificates(description: string) {
  return withContent('certificates', text({ description, kind: 'path' }));
}

/** Schema of the path of a file with a secret. An operator may write the secret itself here by mistake. */
export function secretPath(description: string, content: Content) {
  return withContent(content, withSecrecy('path', text({ description, kind: 'path' })));
}

const ARGS_MAX = 64;
const COMMAND = `a list of a program and its arguments, at most ${ARGS_MAX}, such as [pass, show, plant-7]`;
const ARGUMENT = `text of at most ${TEXT_CHARS_MAX} characters (a number needs quotes)`;
const ORIGINS = '{ file: path } or { command: [program, …] }';
const ORIGIN = 'either "file" or "command"';

const secretOrigin = section('Where the secret is read: a file or a command.', {
  file: withSecrecy(
    'path',
    text({
      description: 'File with the secret; one trailing line end is ignored. Read again when it changes.',
      kind: 'path',
    }),
  ).optional(),
  command: z
    .array(z.string({ error: ARGUMENT }).max(TEXT_CHARS_MAX, { error: ARGUMENT }), { error: COMMAND })
    .min(1, { error: COMMAND })
    .max(ARGS_MAX, { error: COMMAND })
    .refine(([program]) => program !== '', { error: COMMAND })
    .meta({ description: 'Program, and its arguments, that writes the secret. Only in the main file.' })
    .optional(),
  // An unknown key, and a value whose variable is not set, already have their faults.
}).refine((keys) => 'file' in keys !== 'command' in keys, { error: ORIGIN, when: ({ issues }) => issues.length === 0 });

/**
 * Schema of a secret, as text (which becomes a {@link Secret}) or as its origin. `content`: requirements on what is
 * read; `expected` completes "Expected …" for other text. Messages never repeat the value.
 */
export function secretOf(
  description: string,
  content: SecretKind,
  literal: z.ZodString,
  expected: string = content.expected,
) {
  const itself = z.codec(literal, z.instanceof(Secret), { decode: (value) => new Secret(value), encode: String });
  const either = z.union([itself, secretOrigin], {
    error: ({ input }) => (typeof input === 'object' ? `${expected}, ${ORIGINS}` : expected),
  });
  return withContent(content, withSecrecy('secret', either.meta({ description, kind: 'secret' })));
}

/** A secret as text, or its origin. */
export type WrittenSecret =
  | Secret
  | { readonly file?: string | undefined; readonly command?: readonly string[] | undefined };

/** Schema of a secret of any text. `what`, such as `the password`, completes "Expected a file that holds …". */
export function secret(description: string, what = 'the password') {
  return secretOf(description, { expected: what }, text({ description: 'The secret itself.' }), TEXT);
}

const FLAG = 'true or false';

/** Schema of a flag; also as text, because environment variables are text. */
export function flag(about: About) {
  const written = z
    .union([z.boolean(), z.enum(['true', 'false'])], { error: FLAG })
    .meta({ kind: '`true` or `false`', ...about });
  return codec(
    written,
    FLAG,
    (value) => value === true || value === 'true',
    (value): boolean | 'true' | 'false' => value,
  );
}

/** Schema of one of a few words. */
export function choice<const Words extends readonly [string, ...string[]]>(about: About, words: Words) {
  const quoted = words.map((word) => `"${word}"`);
  const error = [quoted.slice(0, -1).join(', '), ...quoted.slice(-1)].filter((part) => part !== '').join(' or ');
  return z.enum(words, { error }).meta(about);
}

/** A key that similar programs have and this one rejects, with a reason: a whole sentence. */
export function unsupported(reason: string) {
  const message = `This key is not supported: ${reason}`;
  return z
    .unknown()
    .meta({ description: `Not supported: ${reason}.`, kind: 'unsupported' })
    .superRefine((value, context) => {
      if (value === undefined) return;
      context.addIssue({ code: 'custom', message, params: { isSentence: true } });
    })
    .optional();
}

/** Schema of text that `isValid` accepts. */
export function checked(about: About, expected: string, charsMax: number, isValid: (value: string) => boolean) {
  return z
    .string({ error: expected })
    .max(charsMax, { error: `${expected}, at most ${charsMax} characters` })
    .refine(isValid, { error: expected })
    .meta({ kind: 'text', ...about });
}

/**
 * Schema of text that `parse` converts, or rejects with `undefined`; `render` is the inverse. `describe` names what was
 * found, without a secret. Default: the text, unless it may be a secret.
 */
export function parsed<Value>(
  about: About,
  expected: string,
  parse: (value: string) => Value | undefined,
  render: (value: Value) => string = String,
  describe?: (value: string) => string | undefined,
) {
  return codec(z.string({ error: expected }).meta(about), expected, parse, render, describe);
}

/** Schema of a value in any written form; otherwise as {@link parsed}. */
export function codec<Written extends z.ZodType, Value>(
  written: Written,
  expected: string,
  parse: (value: z.output<Written>) => Value | undefined,
  render: (value: Value) => z.output<Written>,
  describe?: (value: z.output<Written>) => string | undefined,
) {
  return z.codec(written, z.custom<Value>(), {
    decode(value, context) {
      const result = parse(value);
      if (result !== undefined) return result;
      const params = describe && { found: describe(value) };
      context.issues.push({ code: 'custom', message: expected, input: value, ...(params && { params }) });
      return z.NEVER;
    },
    encode: render,
  });
}

const MOMENT = 'a time with its UTC offset, such as "2026-12-01T06:00:00Z" or "2026-12-01T07:00+01:00"';
const MOMENT_FORM = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})$/;

/** Parses a time with its UTC offset, to milliseconds since the Unix epoch; `undefined` if it is none. */
export function parseMoment(written: string): number | undefined {
  const ms = MOMENT_FORM.test(written) ? Date.parse(written) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}

/** Schema of a time with its UTC offset, to milliseconds since the Unix epoch. */
export function moment(about: About) {
  return parsed({ kind: 'time', ...about }, MOMENT, parseMoment, (ms) => new Date(ms).toISOString());
}

/** Schema of a Prometheus duration, to milliseconds. */
export function duration(about: About, leastMs: number = DURATION_MS_MIN, mostMs: number = DURATION_MS_MAX) {
  const parse = (value: string) => parseWithin(value, leastMs, mostMs);
  return parsed({ kind: 'duration', ...about }, describeDuration(leastMs, mostMs), parse, renderDuration);
}

/** Schema of a Prometheus duration, to milliseconds; 0 (with or without a unit) for none. */
export function durationOrNone(about: About, leastMs: number, mostMs: number) {
  const expected = `${describeDuration(leastMs, mostMs)}, or 0`;
  const written = z.union([z.string(), z.literal(0)], { error: expected }).meta({ kind: 'duration', ...about });
  const parse = (value: string | 0) =>
    value === 0 || parseDuration(value) === 0 ? 0 : parseWithin(value, leastMs, mostMs);
  return codec(written, expected, parse, renderDuration);
}

function parseWithin(value: string, leastMs: number, mostMs: number): number | undefined {
  const durationMs = parseDuration(value);
  return durationMs !== undefined && durationMs >= leastMs && durationMs <= mostMs ? durationMs : undefined;
}

function describeDuration(leastMs: number, mostMs: number): string {
  const example = leastMs < 60_000 ? '30s or 1h30m' : '12h or 30d';
  return `a duration with its unit from ${renderDuration(leastMs)} to ${renderDuration(mostMs)}, such as ${example}`;
}

const SIZE = `a size of at least ${SPOOL_BYTES_LEAST / 1024 ** 2}MiB, such as 512MiB or 1GiB`;

/** Schema of a size on a disk, to bytes. A plain number is bytes. */
export function byteSize(about: About) {
  return size(about, SIZE, (bytes) => bytes >= SPOOL_BYTES_LEAST);
}

const BUDGET = `a size of at least ${BYTE_BUDGET_LEAST / 1024}KiB, such as 20MiB, or 0 for no budget`;
const SHARE = 'a percentage from 1% to 99%';

interface WrittenBudget {
  /** Bytes; 0: no budget. */
  readonly perDay: number;
  readonly statusShare: number;
}

const STATUS_SHARE = 0.2;

/** Schema of a byte budget, as a size or a map with the share of status polls. */
export function byteBudget(about: About) {
  const written = z.union([z.string(), z.int()], { error: BUDGET });
  const keys = section('Byte budget with the share that is kept for status polls.', {
    per_day: written.meta({ kind: 'size', description: 'Size of the budget; 0 = no budget.' }),
    status_share: z
      .string({ error: SHARE })
      .optional()
      .meta({
        kind: 'percentage from 1% to 99%',
        advanced: true,
        description: `Share of the budget that only status polls may use while logs pause. Default: \`${STATUS_SHARE * 100}%\`.`,
      }),
  });
  const either = z.union([written, keys], { error: BUDGET }).meta({ kind: 'size, or a map', ...about });
  return codec(either, BUDGET, parseBudget, renderByteBudget);
}

function parseBudget(
  written: string | number | { per_day: string | number; status_share?: string | undefined },
): WrittenBudget | undefined {
  const { per_day, status_share = `${STATUS_SHARE * 100}%` } =
    typeof written === 'object' ? written : { per_day: written };
  const perDay = parseByteSize(String(per_day));
  if (perDay === undefined || (perDay !== 0 && perDay < BYTE_BUDGET_LEAST)) return undefined;
  const percent = /^(\d{1,2})\s*%$/.exec(status_share)?.[1];
  return percent === undefined || Number(percent) === 0 ? undefined : { perDay, statusShare: Number(percent) / 100 };
}

function renderByteBudget({ perDay, statusShare }: WrittenBudget) {
  if (perDay === 0) return 0;
  if (statusShare === STATUS_SHARE) return renderByteSize(perDay);
  return { per_day: renderByteSize(perDay), status_share: `${Math.round(statusShare * 100)}%` };
}

/** Schema of a size between two bounds, to bytes. A plain number is bytes. */
export function byteSizeWithin(about: About, least: number, most: number, example = '512KiB') {
  const expected = `a size from ${renderByteSize(least)} to ${renderByteSize(most)}, such as ${example}`;
  return size(about, expected, (bytes) => bytes >= least && bytes <= most);
}

/** Renders a size in the largest unit that gives a whole number. */
export function renderByteSize(bytes: number): string {
  const [unit, unitBytes] = BINARY_UNITS.find(([, it]) => bytes >= it && bytes % it === 0) ?? ['B', 1];
  return `${bytes / unitBytes}${unit}`;
}

const BINARY_UNITS = [
  ['TiB', 1024 ** 4],
  ['GiB', 1024 ** 3],
  ['MiB', 1024 ** 2],
  ['KiB', 1024],
] as const;

function size(about: About, expected: string, isValid: (bytes: number) => boolean) {
  const written = z.union([z.string(), z.int()], { error: expected }).meta({ kind: 'size', ...about });
  const parse = (value: string | number) => {
    const bytes = parseByteSize(String(value));
    return bytes !== undefined && isValid(bytes) ? bytes : undefined;
  };
  return codec(written, expected, parse, renderByteSize);
}

/** Schema of a whole number; also as text, because environment variables are text. */
export function wholeNumber(about: About, least: number, most: number) {
  const expected = `a whole number from ${least} to ${most}`;
  const error = { error: expected };
  const isInRange = (digits: string) => /^\d{1,9}$/.test(digits) && Number(digits) >= least && Number(digits) <= most;
  const digits = z.string().refine(isInRange, error);
  const written = z
    .union([z.int(error).min(least, error).max(most, error), digits], error)
    .meta({ kind: `number from ${least} to ${most}`, ...about });
  return codec(written, expected, Number, (value): string | number => value);
}

type SecretSchema = ReturnType<typeof secret>;

type SecretShape<Name extends string> = { [Key in Name]: z.ZodOptional<SecretSchema> } & {
  [Key in `${Name}_file`]: z.ZodOptional<ReturnType<typeof secretPath>>;
};

/** Returns the keys of a secret: `NAME`, and `NAME_file`, short for `NAME: { file: path }`. Only one may be set. */
export function secretShape<const Name extends string>(
  name: Name,
  value: SecretSchema,
  about: Pick<About, 'advanced'> = {},
): SecretShape<Name> {
  return {
    [name]: value.optional().meta(about),
    [`${name}_file`]: secretPath(
      `Short for \`${name}: { file: path }\`.`,
      findContent(value) ?? { expected: `the ${name}` },
    )
      .optional()
      .meta(about),
  } as SecretShape<Name>;
}
