import { isIPv4, isIPv6 } from 'node:net';
import { matchesGlob } from 'node:path';
import { z } from 'zod';
import { describeHost, describeUrl, SECOND_SCHEME } from './describe-url.ts';
import { findNearest } from './nearest.ts';
import { type About, checked, parsed, TEXT_CHARS_MAX, withSecrecy } from './values.ts';

/** Names become label values and file names, which end at 255 bytes. */
const NAME_CHARS_MAX = 128;
/** Globs or paths in one list. */
const FILE_PATTERNS_MAX = 100;

const NAME = `a name of letters, digits, ".", "_" and "-", at most ${NAME_CHARS_MAX} (a number needs quotes)`;

/** A name that is a label value and may become a part of a file name. */
export function name(about: About) {
  return z
    .string({ error: NAME })
    .regex(/^(?!\.{1,2}$)[A-Za-z0-9._-]+$/, { error: NAME })
    .max(NAME_CHARS_MAX, { error: NAME })
    .meta({ kind: 'name', ...about });
}

/** A list of names that are defined elsewhere. */
export function nameList(about: About, most: number) {
  const list = `a list of at most ${most} names`;
  return z
    .array(name({ description: '' }), { error: list })
    .max(most, { error: list })
    .meta({ kind: 'list of names', ...about });
}

/** A map of at most `most` sets of keys with names that the operator chooses. */
export function sets<Schema extends z.core.$ZodType>(description: string, schema: Schema, most: number) {
  return z
    .record(name({ description: '' }), schema, { error: 'a map of names, each with a map of keys' })
    .refine((map) => Object.keys(map).length <= most, { error: `at most ${most} names` })
    .meta({ description });
}

const PATTERNS = `a list of at most ${FILE_PATTERNS_MAX} paths or globs`;
const PATTERN = `a path, or a glob such as "routers/*.yaml"`;

/** Files to read: paths, and globs of one folder level for each part. */
export function filePatterns(about: About) {
  const pattern = z
    .string({ error: PATTERN })
    .min(1, { error: PATTERN })
    .max(TEXT_CHARS_MAX, { error: PATTERN })
    .refine((value) => !value.includes('\0'), { error: PATTERN })
    // "**" could search the whole disk.
    .refine((value) => !value.includes('**'), {
      error: `a path or glob without "**"; write a "*" for each level of folders`,
    });
  return z
    .array(pattern, { error: PATTERNS })
    .max(FILE_PATTERNS_MAX, { error: PATTERNS })
    .meta({ kind: 'list of paths and globs', ...about });
}

/**
 * A list of globs; `*` by default. Messages show two examples of names. Where there are only some `words`, each glob must match
 * one of them.
 */
export function globs(
  description: string,
  { examples: [one, other] = ['network', 'kernel'], words }: GlobOptions = {},
) {
  const list = `a list of globs such as "*" and "!${other}", at least one of them without "!"`;
  const item = `a glob such as "${one}" or "!${other}"`;
  const noWord = `a glob that fits one of ${words?.join(', ')}`;
  const glob = z
    .string({ error: item })
    .regex(/^!?[^!\s]+$/, { error: item, abort: true })
    .superRefine((value, context) => {
      const plain = value.replace(/^!/, '');
      if (!words || words.some((word) => matchesGlob(word, plain))) return;
      context.addIssue({ code: 'custom', message: noWord, params: { nearest: findNearestWord(plain, words) } });
    });
  return z
    .array(glob, { error: list })
    .refine((items) => items.some((it) => !it.startsWith('!')), { error: list })
    .meta({ description, kind: 'list of globs' });
}

/** Examples and allowed words of a list of globs. */
export interface GlobOptions {
  /** Two example globs for messages. Default: those of component names. */
  readonly examples?: readonly [string, string];
  /** The words that globs are matched against, if they are a closed list. Default: any text. */
  readonly words?: readonly string[];
}

/** Finds a word by its first letters, such as `warn` and `crit`, or by similarity. */
function findNearestWord(word: string, words: readonly string[]): string | undefined {
  const start = word.toLowerCase();
  const longer = start.length < 3 ? undefined : words.find((candidate) => candidate.startsWith(start));
  return longer ?? findNearest(word, words);
}

/** A listen address. */
export function listenAddress(about: About) {
  return parsed(
    { kind: 'address', ...about },
    'host:port, :port or [IPv6 address]:port with a port from 0 to 65535',
    parseListenAddress,
    renderListenAddress,
    describeHost,
  );
}

/** The URL of a router, normalised. */
export function routerUrl(about: About) {
  const expected =
    'an http or https URL of scheme, host, port and path prefix alone, without credentials, query and fragment, such as https://192.0.2.10';
  return webUrl(about, expected, parseRouterUrl);
}

/** An http or https URL that `parse` accepts. Messages name the rule that another text breaks, and do not repeat it. */
export function webUrl<Value>(
  about: About,
  expected: string,
  parse: (value: string) => Value | undefined,
  render: (value: Value) => string = String,
) {
  return withSecrecy('possible', parsed({ kind: 'URL', ...about }, expected, parse, render, describeUrl));
}

/** A SHA-256 fingerprint, to 64 small hexadecimal digits. */
export function fingerprint(about: About) {
  const expected = 'a SHA-256 fingerprint of 64 hexadecimal digits, with or without colons between each two';
  return parsed({ kind: 'text', ...about }, expected, (value) => {
    const digits = value.replaceAll(':', '').toLowerCase();
    return /^[0-9a-f]{64}$/.test(digits) && /^(..:){31}..$|^.{64}$/.test(value) ? digits : undefined;
  });
}

/** An IANA time zone. */
export function timeZone(about: About) {
  const message = 'a time zone of the IANA list, such as Europe/Berlin or UTC';
  return z
    .string({ error: message })
    .meta({ kind: 'name of a time zone', ...about })
    .superRefine((value, context) => {
      if (isTimeZone(value)) return;
      context.addIssue({ code: 'custom', message, params: { nearest: findNearestTimeZone(value) } });
    });
}

/**
 * Parses an http or https URL that consists of scheme, host, port and path, and normalises it; `undefined` for any other
 * text, and for an address that would become another one.
 */
export function parsePlainUrl(address: string): string | undefined {
  // The WHATWG parser accepts likely mistakes: spaces, backslashes, missing slashes.
  if (!/^https?:\/\/[^\s\\?#@]+$/i.test(address) || SECOND_SCHEME.test(address)) return undefined;
  const url = URL.parse(address);
  if (!url || url.hostname === '') return undefined;
  if (isIPv4(url.hostname) && describeHost(address) !== undefined) return undefined;
  return url.origin + url.pathname;
}

/** Parses a base URL, such as the address of a router, and removes slashes at its end. */
export function parseRouterUrl(address: string): string | undefined {
  return parsePlainUrl(address)?.replace(/\/+$/, '');
}

/** All zones without their aliases. A lookup is a thousand times faster than constructing a zone. */
const CANONICAL_ZONES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('timeZone'));

/** True for a time zone of the IANA list. An offset such as `+01:00` is not one. */
function isTimeZone(zone: string): boolean {
  if (CANONICAL_ZONES.has(zone)) return true;
  if (!/^[A-Za-z]/.test(zone)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/** Finds the time zone of which `zone` is probably a misspelling. */
function findNearestTimeZone(zone: string): string | undefined {
  return findNearest(zone, [...CANONICAL_ZONES]);
}

/** Host and port to listen on. */
export interface ListenAddress {
  /** Host name or address without brackets; `undefined` listens on every address. */
  readonly host: string | undefined;
  /** 0 lets the system choose. */
  readonly port: number;
}

const PORT_MAX = 65_535;
const HOST_NAME = /^(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$/;

/** Parses `host:port`, `:port` or `[::1]:port`; `undefined` for any other text. Port 0 lets the system choose. */
export function parseListenAddress(text: string): ListenAddress | undefined {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
  if (!match) return undefined;
  const [, bracketed, plain, digits] = match;
  const port = Number(digits);
  if (port > PORT_MAX) return undefined;
  if (describeHost(text) !== undefined) return undefined;
  if (bracketed !== undefined) return isIPv6(bracketed) ? { host: bracketed, port } : undefined;
  if (plain === undefined || plain === '') return { host: undefined, port };
  return HOST_NAME.test(plain) ? { host: plain, port } : undefined;
}

/** Renders an address, with brackets around one with colons: `[::1]:port`. */
export function renderListenAddress({ host = '', port }: ListenAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Maximum length of the value of a label, which is stored with every series. */
export const LABEL_CHARS_MAX = 256;
/** Maximum length of the name of a metric or label, so that it fits into a panel of a dashboard. */
const METRIC_NAME_CHARS_MAX = 128;
/** One or two sentences. */
const HELP_CHARS_MAX = 500;
/** Every label is stored with every series. */
export const METRIC_LABELS_MAX = 16;

/** Labels with a meaning in the text format, or on every series of a router. */
const LABELS_RESERVED: ReadonlySet<string> = new Set(['router', 'le', 'quantile']);

const HELP = `a text of at most ${HELP_CHARS_MAX} characters`;

/** A description of one or two sentences. Line breaks of a folded text count as blanks. */
export function help(description: string) {
  return parsed({ description, kind: 'text' }, HELP, (value) => {
    const line = value.trim().replaceAll(/\s+/g, ' ');
    return line !== '' && line.length <= HELP_CHARS_MAX ? line : undefined;
  });
}

const LABEL_NAME = 'a label name of letters, digits and "_" that does not begin with a digit';

/** The name of a label of a metric or of a router. */
export const labelName = z
  .string({ error: LABEL_NAME })
  .regex(/^[a-zA-Z_][a-zA-Z0-9_]*$/, { error: LABEL_NAME })
  .max(METRIC_NAME_CHARS_MAX, { error: `a label name of at most ${METRIC_NAME_CHARS_MAX} characters` })
  .refine((label) => !label.startsWith('__'), {
    error: 'a label name that does not begin with "__", which is reserved',
  })
  .refine((label) => !LABELS_RESERVED.has(label), { error: 'a label name that the exporter does not use itself' });

/** The name of a metric. */
export function metricName(description: string) {
  return checked(
    { description, kind: 'metric name' },
    'the name of a metric: letters, digits and "_", beginning with a letter',
    METRIC_NAME_CHARS_MAX,
    (value) => /^[a-zA-Z][a-zA-Z0-9_]*$/.test(value),
  );
}

/** Prefixes of names of this program, its runtime and Prometheus itself. */
const PREFIXES_RESERVED = ['router_exporter_', 'process_', 'nodejs_', 'go_', 'scrape_'];
/** Prometheus's own series of each target, which alerts everywhere ask for. */
const UP = 'up';
/** Suffixes with a meaning in OpenMetrics and Prometheus. */
const SUFFIXES_RESERVED = ['_total', '_info', '_bucket', '_count', '_sum', '_created'];
const SUFFIXES: Readonly<Record<string, string>> = { counter: '_total', info: '_info' };

/** The valid keys of a metric. */
interface WrittenName {
  readonly name?: string | undefined;
  readonly type?: string | undefined;
}

/** Returns the fault of a metric name for its type; `undefined` if it is valid. */
export function findNameFault({ name: metric, type }: WrittenName): string | undefined {
  if (metric === undefined) return undefined;
  const prefix = PREFIXES_RESERVED.find((candidate) => metric.startsWith(candidate));
  if (prefix !== undefined) return `The names that begin with "${prefix}" belong to others; choose another one`;
  if (metric === UP) return 'The name "up" belongs to Prometheus; choose another one';
  if (type === undefined) return undefined;
  const suffix = SUFFIXES[type];
  if (suffix !== undefined) {
    return metric.endsWith(suffix) ? undefined : `The name of a metric of type "${type}" must end in "${suffix}"`;
  }
  const reserved = SUFFIXES_RESERVED.find((candidate) => metric.endsWith(candidate));
  return reserved && `The name of a metric of type "${type}" must not end in "${reserved}"`;
}

/** Returns the name of the family in OpenMetrics. */
export function toFamilyName({ name: metric, type }: { readonly name: string; readonly type: string }): string {
  if (type === 'counter') return metric.replace(/_total$/, '');
  return type === 'info' ? metric.replace(/_info$/, '') : metric;
}
