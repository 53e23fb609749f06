import { createFile, createStreamState, type LogFileDraft } from '../../../src/logs/position/position.ts';
import { LineSplitter } from '../../../src/logs/records/line-splitter.ts';
import type { ReadingEnd } from '../../../src/logs/records/record-batch.ts';
import { RecordBuilder, type RecordContext } from '../../../src/logs/records/record-builder.ts';
import { LineMatcher } from '../../../src/logs/rules/line-matcher.ts';
import { createSkewBounds } from '../../../src/logs/time/log-clock.ts';
import { Zone } from '../../../src/logs/time/zone.ts';
/** Random lines of logs, and what becomes of them in random situations. */

import * as fc from 'fast-check';

const OBSERVED_MS = Date.UTC(2026, 9, 26, 12, 0, 0, 412);
const RULES = [
  { name: 'router_logins_total', pattern: 'user (?P<user>\\w+)', type: 'counter', labels: ['user'] },
  { name: 'router_numbers_total', pattern: '^\\d+$', type: 'counter', labels: [] },
  { name: 'router_ends_total', pattern: 'logged.*(in|out)|47.*1', type: 'counter', labels: [] },
].map((rule) => ({
  help: '',
  components: ['*'],
  fixed_labels: {},
  value: undefined,
  ...rule,
  type: 'counter' as const,
}));
const REMOVALS = [
  { pattern: 'password=\\S+', replacement: '[removed]' },
  // What is left may match a rule that the line did not, or need an escape in JSON.
  { pattern: 'secret\\d', replacement: '4711' },
  { pattern: 'token:\\w*', replacement: '"user" user none' },
];
/** Without the rule that has no literals, and so runs on every line. */
const LITERAL_RULES = RULES.filter(({ pattern }) => !pattern.startsWith('^'));
const MATCHERS = {
  none: undefined,
  rules: new LineMatcher(RULES),
  redacting: new LineMatcher(RULES, REMOVALS),
  literals: new LineMatcher(LITERAL_RULES),
  redactingLiterals: new LineMatcher(LITERAL_RULES, REMOVALS),
};

/** Around a night in which a clock is set back, and with it the hour that there is twice. */
const stamp = fc
  .tuple(fc.constantFrom(0, 0, 0, 1, 2, 59, 3600, -3, -7200, 86_400, -200_000, 40 * 86_400), fc.boolean())
  .map(([step, isSame]) => (isSame ? 0 : step));
const message = fc.oneof(
  { weight: 6, arbitrary: fc.stringMatching(/^[ -~]{0,40}$/) },
  fc.constantFrom(
    'user admin logged in',
    '4711',
    'password=secret and more',
    'user admin password=secret5',
    'secret5',
    'token:abc secret7',
    'GET /api/v2_0/status/wan',
    'a "quoted" word',
    'back\\slash',
    'ends with\r',
    'grüße',
    'x'.repeat(400),
    'y'.repeat(5000),
    'says: 2026-10-25 01:00:00 [wan] quoted',
    'broken2026-10-25 01:00:00 [wan] glued',
    '',
  ),
  fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes.filter((byte) => byte !== 10)).toString('latin1')),
);
const tag = fc.constantFrom(
  '[wan]',
  '[wan]',
  '[lte1]',
  '[]',
  '[wan][WARNING]',
  '[a[b]',
  '[wan',
  `[${'t'.repeat(254)}]`,
  `[${'t'.repeat(255)}]`,
  '[ü]',
);
const form = fc.constantFrom(
  'usual',
  'usual',
  'usual',
  'usual',
  'usual',
  'usual',
  'fraction',
  'T',
  'dotted',
  'offset',
  'offset behind a blank',
  'half of a day',
  'tabs',
  'priority',
  'no tag',
  'none',
  'repeat',
  'empty',
  'carriage return',
);
const wild = fc.record({ stamp, tag, message, form, gap: fc.constantFrom(' ', ' ', ' ', '') });
const usual = fc.record({
  stamp: fc.constantFrom(0, 0, 1, 3, 60, 600, -2),
  tag: fc.constantFrom('[wan]', '[lte1]', '[firewall]'),
  message: fc.oneof(
    { weight: 4, arbitrary: fc.stringMatching(/^[ !#-Z^-~]{0,60}$/) },
    fc.constantFrom('user admin logged in', '4711', 'password=secret', 'z'.repeat(300)),
  ),
  form: fc.constant('usual'),
  gap: fc.constant(' '),
});
export const line = fc.oneof({ weight: 9, arbitrary: usual }, wild);
type Line = typeof line extends fc.Arbitrary<infer T> ? T : never;

export function renderLines(lines: readonly Line[]): Buffer {
  let second = Date.UTC(2026, 9, 25, 0, 30) / 1000;
  const texts = lines.map((one) => {
    second += one.stamp;
    const iso = new Date(second * 1000).toISOString();
    const [day, time] = [iso.slice(0, 10), iso.slice(11, 19)];
    const rest = ` ${one.tag}${one.gap}${one.message}`;
    if (one.form === 'fraction') return `${day} ${time}.250${rest}`;
    if (one.form === 'T') return `${day}T${time}${rest}`;
    if (one.form === 'dotted') return `${day.split('-').toReversed().join('.')} ${time}${rest}`;
    if (one.form === 'offset') return `${day} ${time}+02:00${rest}`;
    if (one.form === 'offset behind a blank') return `${day} ${time} -0300${rest}`;
    if (one.form === 'half of a day') return `${day} ${time} AM${rest}`;
    if (one.form === 'tabs') return `${day}\t${time}\t${one.tag}\t${one.message}`;
    if (one.form === 'priority') return `<11>${day} ${time}${rest}`;
    if (one.form === 'no tag') return `${day} ${time} ${one.message}`;
    if (one.form === 'none') return one.message;
    if (one.form === 'repeat') return `${' '.repeat(16)}- Last output repeated 17 times -`;
    if (one.form === 'carriage return') return '\r';
    return one.form === 'empty' ? '' : `${day} ${time}${rest}`;
  });
  return Buffer.from(texts.join('\n'), 'latin1');
}

export interface Situation {
  readonly zone: string;
  readonly matcher: keyof typeof MATCHERS;
  readonly isInOrder: boolean;
  readonly wasLooked: boolean;
  readonly skips: boolean;
  readonly end: ReadingEnd;
  readonly off: number;
}

function createContext({ zone, matcher, isInOrder, wasLooked, skips }: Situation): RecordContext {
  return {
    router: { name: 'plant-7', labels: { site: 'munich' } },
    component: 'network',
    zone: new Zone(zone === '' ? undefined : zone),
    observedMs: OBSERVED_MS,
    file: 'network/current',
    flags: skips ? ['late'] : [],
    matcher: MATCHERS[matcher]?.of('network'),
    ...(isInOrder && { stream: createStreamState() }),
    ...(wasLooked && { notBeforeMs: Date.UTC(2026, 9, 24), skew: createSkewBounds() }),
    ...(skips && { skipBeforeUtcMs: Date.UTC(2026, 9, 25, 0, 31) }),
  };
}

/** All that comes of a file: with usual lines taken as they stand, or each line on its own. */
export function read(bytes: Buffer, cuts: readonly number[], situation: Situation, takesRuns: boolean) {
  const file: LogFileDraft = { ...createFile('ab'.repeat(32), 0), off: situation.off };
  const context = createContext(situation);
  const builder = new RecordBuilder(context, file);
  const splitter = new LineSplitter(file.off);
  const places = [0, ...cuts.map((cut) => Math.floor(cut * bytes.length)).toSorted((a, b) => a - b), bytes.length];
  const batches = [];
  for (const [index, place] of places.entries()) {
    const chunk = bytes.subarray(place, places[index + 1]);
    const takeRun = (all: Buffer, from: number, start: number) => builder.takeRun(all, from, start);
    splitter.push(chunk, (raw) => builder.push(raw), takesRuns ? takeRun : undefined);
    file.off = splitter.offset;
    const { records, ...batch } = builder.take(index < places.length - 1 ? 'more' : situation.end);
    batches.push(
      structuredClone({ ...batch, records: [...records], file, stream: builder.stream, skew: context.skew }),
    );
  }
  return batches;
}

export const situation: fc.Arbitrary<Situation> = fc.record({
  zone: fc.constantFrom('UTC', 'Europe/Berlin', ''),
  matcher: fc.constantFrom('none', 'rules', 'redacting', 'literals', 'redactingLiterals'),
  isInOrder: fc.boolean(),
  wasLooked: fc.boolean(),
  skips: fc.boolean(),
  end: fc.constantFrom('more', 'open', 'closed'),
  off: fc.constantFrom(0, 4000, 999_900, 36 ** 4 - 100),
});
