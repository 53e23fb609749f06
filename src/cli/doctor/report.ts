import { styleText } from 'node:util';
import { renderCount, renderDay, renderMany } from '../../base/index.ts';
import { findReportedOffsetMs, judgeRotations } from '../../logs/index.ts';
import { type CommandIo, renderTable } from '../support/io.ts';
import { renderMonthUse } from '../support/month-use.ts';
import type { Learnt, RouterReport, Step, Verdict } from './examination.ts';
import { renderOffset } from './log-stages.ts';

export type ShownStep = Pick<Step, 'step' | 'verdict' | 'message' | 'reason' | 'hint' | 'durationMs' | 'bytes'>;

export interface TestReport {
  readonly text: string;
  /** An object, or an array with one for each sink. */
  readonly json: object;
  readonly hasFailed: boolean;
}

const COLOURS: Readonly<Record<string, 'green' | 'yellow' | 'red' | 'gray'>> = {
  ok: 'green',
  warning: 'yellow',
  failed: 'red',
  skipped: 'gray',
};

export function paintVerdict(text: string, verdict: string, io: CommandIo): string {
  const colour = COLOURS[verdict];
  // Given a stream, Node.js respects NO_COLOR and the capabilities of the terminal.
  return colour && io.stdout.isTTY ? styleText(colour, text, { stream: io.stdout }) : text;
}

const isVerdict = (text: string): text is Verdict => Object.hasOwn(COLOURS, text.trim());

export function renderSteps(steps: readonly ShownStep[], io: CommandIo): string {
  const isMeasured = steps.some(({ durationMs }) => durationMs !== undefined);
  const header = isMeasured ? ['STEP', 'RESULT', 'TIME', 'BYTES', 'FOUND'] : ['STEP', 'RESULT', 'FOUND'];
  const rows = steps.flatMap(({ step, verdict, message, reason, hint, durationMs, bytes }) => {
    const cost = isMeasured
      ? [durationMs === undefined ? '' : renderMs(durationMs), bytes === undefined ? '' : renderCount(bytes)]
      : [];
    const below = header.map((_, column) => (column === header.length - 1 ? `→ ${hint}` : ''));
    const found = reason === undefined || reason === step ? message : `${reason}: ${message}`;
    return [[step, verdict, ...cost, found], ...(hint === undefined ? [] : [below])];
  });
  const paint = (text: string, row: readonly string[], column: number) =>
    column === 1 && isVerdict(row[1] ?? '') ? paintVerdict(text, row[1]?.trim() ?? '', io) : text;
  return indent(renderTable(header, rows, paint));
}

export function renderRouter(report: RouterReport, io: CommandIo): string {
  const { router, url, steps, learnt } = report;
  const facts = listFacts(report, learnt);
  const table = facts.length > 0 ? indent(renderTable(['LEARNT', ''], facts)) : '';
  return `${paintVerdict(`${router}  ${url}  ${renderResult(report)}`, report.verdict, io)}\n${renderSteps(gatherAbsent(steps), io)}${table}`;
}

/** Lists the routers with failures, then those with warnings, and counts all. */
export function renderFleet(reports: readonly RouterReport[], io: CommandIo): string {
  const [failed = [], warned = [], ok = []] = (['failed', 'warning', 'ok'] as const).map((wanted) =>
    reports.filter(({ verdict }) => verdict === wanted),
  );
  const rows = [...failed, ...warned].map(({ router, verdict, steps }) => {
    const worst = steps.find((step) => step.verdict === verdict);
    return [router, verdict, worst?.step ?? '', worst ? [worst.message, worst.hint].filter(Boolean).join('. ') : ''];
  });
  const paint = (text: string, row: readonly string[], column: number) =>
    column === 1 ? paintVerdict(text, row[1] ?? '', io) : text;
  const table = rows.length > 0 ? renderTable(['ROUTER', 'RESULT', 'STEP', 'FOUND'], rows, paint) : '';
  return `${table}${renderMany(reports.length, 'router')}: ${failed.length} failed, ${warned.length} with warnings, ${ok.length} ok\n`;
}

function renderResult({ verdict, steps }: RouterReport): string {
  if (verdict === 'ok') return 'ok';
  const found = steps.filter((step) => step.verdict === verdict);
  return verdict === 'failed'
    ? `failed: ${found.map(({ step }) => step).join(', ')}`
    : renderMany(found.length, 'warning');
}

/** Merges the steps of absent cards, which can be many. */
function gatherAbsent(steps: readonly Step[]): readonly Step[] {
  const isAbsent = ({ verdict, durationMs }: Step) => verdict === 'skipped' && durationMs !== undefined;
  const absent = steps.filter(isAbsent);
  const [first] = absent;
  if (!first || absent.length === 1) return steps;
  const sum = (read: (step: Step) => number | undefined) => absent.reduce((all, step) => all + (read(step) ?? 0), 0);
  const gathered: Step = {
    ...first,
    step: `status, ${absent.length} more`,
    durationMs: sum(({ durationMs }) => durationMs),
    bytes: sum(({ bytes }) => bytes),
  };
  const last = absent.at(-1);
  return steps.flatMap((step) => (step === last ? gathered : isAbsent(step) ? [] : step));
}

function listFacts({ bytes, durationMs, month }: RouterReport, learnt: Readonly<Learnt>): string[][] {
  const { certificate, account, logs, archives, offset, time, clockOffsetMs } = learnt;
  const total = bytes.sent + bytes.received;
  return [
    ...(certificate
      ? [
          ['certificate', `${certificate.subject}, signed by ${certificate.issuer}`],
          ['', `until ${renderDay(certificate.notAfterMs)}, SHA-256 ${certificate.fingerprintSha256}`],
        ]
      : []),
    ...(account
      ? [['account', account === 'no configuration' ? 'no right to read the configuration' : `group ${account.group}`]]
      : []),
    ...(logs ? [['logs', `${renderMany(logs.components, 'log')}, ${renderMany(logs.files, 'file')}`]] : []),
    ...(learnt.hasRanges === undefined ? [] : [['log downloads', renderDownloads(learnt)]]),
    ...(archives === undefined ? [] : [['log archives', `arrive as ${archives}`]]),
    ...(offset ? [['UTC offset', renderEvidence(offset)]] : []),
    ...(time ? [[offset ? '' : 'UTC offset', renderReported(time)]] : []),
    ...(learnt.rotations ? [['archive names', renderNames(learnt.rotations)]] : []),
    ...(learnt.rotations ? [['log rotation', renderRotations(learnt.rotations)]] : []),
    ...(clockOffsetMs === undefined ? [] : [['clock', renderClock(clockOffsetMs)]]),
    ...(total > 0
      ? [['cost', `${renderCount(total)} bytes on the wire (${renderCount(bytes.sent)} sent), ${renderMs(durationMs)}`]]
      : []),
    ...(month.status > 0 ? [['', `at these intervals ${renderMonthUse(month)}, before new log lines`]] : []),
  ];
}

function renderDownloads({ hasRanges, hasEntityTags, encoding }: Readonly<Learnt>): string {
  const parts = [
    hasRanges ? 'ranges: yes' : 'ranges: no, every read of a changed log downloads the whole file',
    ...(hasEntityTags === undefined ? [] : [`entity tags: ${hasEntityTags ? 'yes' : 'no'}`]),
    ...(encoding === undefined ? [] : [`encoding: ${encoding}`]),
  ];
  return parts.join('; ');
}

function renderEvidence({
  component,
  rotatedUtcMs,
  firstWallAsUtcMs,
  offsetMs,
}: NonNullable<Learnt['offset']>): string {
  const seen = `${component} was rotated at ${renderTime(rotatedUtcMs)} UTC, its next line says ${renderTime(firstWallAsUtcMs)}`;
  return offsetMs === undefined ? `unknown: ${seen}` : `UTC${renderOffset(offsetMs)}: ${seen}`;
}

type Rotations = NonNullable<Learnt['rotations']>;

const countMatches = (rotations: Rotations) =>
  [...rotations.values()].filter(({ offsetMs }) => offsetMs !== undefined).length;

function renderRotations(rotations: Rotations): string {
  const { holds, chance } = judgeRotations(rotations);
  const odds = chance < 1 ? `, by chance 1 in ${renderCount(Math.round(1 / chance))}` : '';
  const seen = `in ${countMatches(rotations)} of ${rotations.size} logs${odds}`;
  return holds
    ? `a file begins in the second in which the one before ends (${seen}): a missing one would show`
    : `not proven that a file begins in the second in which the one before ends (${seen}): nothing waits for a missing one`;
}

/** Known log daemons name archives in UTC; this router does so if two rotations show the same offset. */
function renderNames(rotations: Rotations): string {
  const offsets = [...rotations.values()].flatMap(({ offsetMs }) => offsetMs ?? []);
  const agreeing = Math.max(0, ...offsets.map((offsetMs) => offsets.filter((other) => other === offsetMs).length));
  return agreeing < 2 ? 'in UTC: assumed until two rotations agree' : `in UTC: ${agreeing} rotations agree`;
}

function renderReported(time: NonNullable<Learnt['time']>): string {
  const offsetMs = findReportedOffsetMs(time);
  const reported = `its clock says ${renderTime(time.wallAsUtcMs)}, and ${renderTime(time.utcMs)} UTC`;
  return offsetMs === undefined ? `unknown: ${reported}` : `UTC${renderOffset(offsetMs)}: ${reported}`;
}

/** For the 1 s resolution of the router's time and the response time. */
const CLOCK_SLACK_MS = 2000;

function renderClock(offsetMs: number): string {
  if (Math.abs(offsetMs) <= CLOCK_SLACK_MS) return 'same as this machine';
  const seconds = Math.round(Math.abs(offsetMs) / 1000);
  return `${seconds} s ${offsetMs > 0 ? 'ahead of' : 'behind'} this machine`;
}

function renderTime(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(11, 19);
}

function renderMs(durationMs: number): string {
  return `${Math.round(durationMs)} ms`;
}

function indent(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '  ');
}

export function toRouterJson({ router, url, verdict, steps, learnt, durationMs, month, bytes }: RouterReport) {
  const { certificate, account, offset, time } = learnt;
  const reportedMs = time && findReportedOffsetMs(time);
  return {
    router,
    url,
    result: verdict,
    duration_ms: Math.round(durationMs),
    sent_bytes: bytes.sent,
    received_bytes: bytes.received,
    month_bytes: month,
    steps: steps.map(toStepJson),
    learnt: {
      tls_version: learnt.tlsVersion,
      certificate: certificate && {
        subject: certificate.subject,
        issuer: certificate.issuer,
        names: certificate.names,
        not_after: new Date(certificate.notAfterMs).toISOString(),
        fingerprint_sha256: certificate.fingerprintSha256,
      },
      account:
        account &&
        (account === 'no configuration'
          ? { reads_configuration: false }
          : { reads_configuration: true, group: account.group }),
      logs: learnt.logs,
      log_ranges: learnt.hasRanges,
      log_entity_tags: learnt.hasEntityTags,
      log_encoding: learnt.encoding,
      log_archives: learnt.archives,
      utc_offset: offset && {
        seconds: offset.offsetMs === undefined ? undefined : offset.offsetMs / 1000,
        component: offset.component,
        rotated_utc: new Date(offset.rotatedUtcMs).toISOString(),
        first_line_wall: new Date(offset.firstWallAsUtcMs).toISOString().slice(0, -1),
      },
      log_rotation: learnt.rotations && toRotationJson(learnt.rotations),
      reported_utc_offset_seconds: reportedMs === undefined ? undefined : reportedMs / 1000,
      clock_offset_seconds: learnt.clockOffsetMs === undefined ? undefined : learnt.clockOffsetMs / 1000,
    },
  };
}

function toRotationJson(rotations: Rotations): object {
  const { holds, chance, misses } = judgeRotations(rotations);
  return { links_proven: holds, logs: rotations.size, matches: countMatches(rotations), misses, chance };
}

export function toStepJson({ step, verdict, message, reason, hint, durationMs, bytes }: ShownStep): object {
  return {
    step,
    result: verdict,
    message,
    reason,
    hint,
    duration_ms: durationMs === undefined ? undefined : Math.round(durationMs),
    bytes,
  };
}
