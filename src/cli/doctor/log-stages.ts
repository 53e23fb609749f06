import type { Clock } from '../../base/index.ts';
import { renderMany } from '../../base/index.ts';
import { type DownloadFacts, type RouterClient, RouterError } from '../../client/index.ts';
import {
  examineHead,
  findOffsetEvidence,
  findReportedOffsetMs,
  isBinary,
  isDateLocal,
  type ListedLog,
  type Listing,
  type OffsetEvidence,
  parseListing,
  SNIFF_BYTES,
  sniffFormat,
  Zone,
} from '../../logs/index.ts';
import type { Examination, Finding } from './examination.ts';

/** Probably enough for the first line of a log. */
const HEAD_BYTES = 512;
const MORE_LOGS = 3;
const CLOCK_OFFSET_MS_MAX = 60_000;

/**
 * Lists the logs, and reads the first bytes of one and of its newest archive. Always resolves to true; it is the last
 * stage.
 */
export async function examineLogs(examination: Examination): Promise<boolean> {
  const { settings, recorder, client, signal, hasSinks } = examination;
  if (!settings.logs.enabled) {
    recorder.skip('logs', 'logs.enabled is false');
    return true;
  }
  let listing: Listing | undefined;
  await recorder.run('log list', async () => {
    try {
      const names = await client.listLogs(signal);
      listing = parseListing(names);
      return describeListing(listing, names.length, examination);
    } catch (error) {
      if (!(error instanceof RouterError && error.isForbidden)) throw error;
      const hint = 'Give the account the group read on the router, or set logs.enabled: false';
      return { verdict: hasSinks ? 'failed' : 'warning', message: 'not permitted for this account', hint };
    }
  });
  if (!listing) {
    recorder.skip('log file', 'not tried after log list');
    return true;
  }
  const [component, log] = chooseLog(listing) ?? [];
  if (component === undefined || !log) {
    recorder.skip('log file', 'none');
    return true;
  }
  await examineCurrent(component, log, examination);
  await examineArchive(log, examination);
  await examineRotations(listing, component, examination);
  return true;
}

/** Reads the beginnings of a few more logs, to find out whether consecutive files overlap by a second. */
async function examineRotations({ logs }: Listing, chosen: string, examination: Examination): Promise<void> {
  const { recorder, client, signal, learnt, clock } = examination;
  const rotations = new Map<string, OffsetEvidence>();
  if (learnt.offset) rotations.set(chosen, learnt.offset);
  const others = [...logs].filter(([one, { current, rotated }]) => one !== chosen && current && rotated.length > 0);
  if (learnt.hasRanges === true && learnt.offset && others.length > 0) {
    await recorder.run('log rotations', async () => {
      for (const [one, log] of others.slice(0, MORE_LOGS)) {
        const read = await readHead(client, log.current ?? '', HEAD_BYTES, signal, clock);
        const unshipped = 'message' in read ? undefined : examineUnshipped(log.current ?? '', read);
        if (unshipped) return unshipped;
        const evidence = 'message' in read ? undefined : findOffsetEvidence(log, read.head);
        if (evidence) rotations.set(one, evidence);
      }
      return { message: `the first bytes of ${renderMany(Math.min(others.length, MORE_LOGS), 'more log')}` };
    });
  }
  if (rotations.size > 0) learnt.rotations = rotations;
}

function describeListing({ logs, unknown }: Listing, files: number, { learnt }: Examination): Finding {
  learnt.logs = { components: logs.size, files, unknown };
  const left = unknown > 0 ? `; ${unknown} with unknown names are ignored` : '';
  if (logs.size > 0) return { message: `${renderMany(files, 'file')} in ${renderMany(logs.size, 'log')}${left}` };
  return { message: `no log files${left}`, verdict: 'warning', hint: 'Check that logging is enabled on the router' };
}

/** The current file of the most recently rotated log is young; its first line shows the time zone. */
function chooseLog({ logs }: Listing): readonly [string, ListedLog] | undefined {
  const newest = ([, { rotated }]: readonly [string, ListedLog]) => rotated.at(-1)?.stamp ?? '';
  return [...logs]
    .filter(([, { current }]) => current !== undefined)
    .toSorted((a, b) => (newest(a) < newest(b) ? 1 : -1))[0];
}

async function examineCurrent(component: string, log: ListedLog, examination: Examination): Promise<void> {
  const { recorder, client, signal, learnt, clock, settings } = examination;
  const { current } = log;
  if (current === undefined) return;
  await recorder.run(`log ${current}`, async () => {
    const read = await readHead(client, current, HEAD_BYTES, signal, clock);
    if ('message' in read) {
      learnt.hasRanges = read.hasRanges;
      return read;
    }
    const { head, facts, observedMs } = read;
    learnt.hasRanges = facts.isPartial;
    learnt.hasEntityTags = facts.etag !== undefined;
    learnt.encoding = facts.encoding;
    if (facts.dateMs !== undefined) learnt.clockOffsetMs = facts.dateMs - observedMs;
    const unshipped = examineUnshipped(current, read);
    if (unshipped) return unshipped;
    const evidence = findOffsetEvidence(log, head);
    if (evidence) learnt.offset = { ...evidence, component };
    const of = facts.fileBytes === undefined ? '' : ` of ${facts.fileBytes}`;
    const cut =
      facts.isPartial || head.length === facts.fileBytes
        ? ''
        : '; ranges are not supported, so the download was aborted';
    const message = `the first ${head.length}${of} bytes${cut}`;
    return isBinary(head) ? toBinaryFinding(message) : { ...judgeTime(examination, settings.timezone), message };
  });
}

function examineUnshipped(name: string, { head, facts, observedMs }: Head): Finding | undefined {
  const isWhole = facts.fileBytes === undefined ? head.length < HEAD_BYTES : head.length === facts.fileBytes;
  const error = examineHead(name, head, { isWhole, mediaType: facts.mediaType, nowMs: observedMs });
  return error && { verdict: 'failed', message: error.message, hint: error.hint };
}

/** The agent reports bytes that are no text as a gap. */
function toBinaryFinding(message: string): Finding {
  const hint =
    'The file is not text: does a proxy in front of the router compress responses? Its lines are missing until this is fixed';
  return { verdict: 'failed', message, hint };
}

function judgeTime({ learnt }: Examination, timezone: string | undefined): Partial<Finding> {
  const { offset, time, clockOffsetMs } = learnt;
  const shown = { whose: 'its lines are at UTC', atMs: offset?.rotatedUtcMs, offsetMs: offset?.offsetMs };
  const isProof = time !== undefined && !isDateLocal(clockOffsetMs ?? 0, 0);
  const reported = {
    whose: 'its clock is at UTC',
    atMs: time?.utcMs,
    offsetMs: isProof ? findReportedOffsetMs(time) : undefined,
  };
  // The times of its lines take precedence over its clock.
  const { whose, atMs, offsetMs } = shown.offsetMs === undefined ? reported : shown;
  if (timezone !== undefined && atMs !== undefined && offsetMs !== undefined) {
    const configuredMs = new Zone(timezone).offsetAt(atMs);
    if (configuredMs !== offsetMs) {
      const hint = `Check timezone of this router: ${whose}${renderOffset(offsetMs)}, and ${timezone} was at UTC${renderOffset(configuredMs)}`;
      return { verdict: 'warning', hint };
    }
  }
  if (clockOffsetMs === undefined || Math.abs(clockOffsetMs) <= CLOCK_OFFSET_MS_MAX) return {};
  const seconds = Math.round(Math.abs(clockOffsetMs) / 1000);
  const side = clockOffsetMs > 0 ? 'ahead of' : 'behind';
  return {
    verdict: 'warning',
    hint: `The router's clock is ${seconds} s ${side} this machine's, and so are the times of its lines: set it, or configure a time server`,
  };
}

async function examineArchive({ rotated }: ListedLog, examination: Examination): Promise<void> {
  const { recorder, client, signal, learnt, clock } = examination;
  const name = rotated.findLast((file) => /\.\w+$/.test(file.name))?.name;
  if (name === undefined) {
    recorder.skip('log archive', 'this log has none');
    return;
  }
  await recorder.run(`log ${name}`, async () => {
    const read = await readHead(client, name, HEAD_BYTES, signal, clock);
    if ('message' in read) return read;
    if (read.head.length === 0) return { message: 'empty: the router may still be compressing it' };
    const sniffed = sniffFormat(read.head.subarray(0, SNIFF_BYTES));
    if (sniffed.kind === 'format' && sniffed.format === 'text' && isBinary(read.head)) {
      return toBinaryFinding('arrives in no known format');
    }
    learnt.archives =
      sniffed.kind === 'format' ? sniffed.format : sniffed.kind === 'unsupported' ? sniffed.name : undefined;
    if (sniffed.kind === 'unsupported') {
      return { verdict: 'failed', message: `arrives as ${sniffed.name}, which is not supported` };
    }
    return { message: `arrives as ${learnt.archives ?? 'a format that the first bytes do not show'}` };
  });
}

interface Head {
  readonly head: Buffer;
  readonly facts: DownloadFacts;
  /** Arrival of the response, Unix time in milliseconds. */
  readonly observedMs: number;
}

const ODD_ANSWERS: ReadonlyMap<unknown, Finding & { readonly hasRanges: boolean | undefined }> = new Map([
  [206, { hasRanges: false, message: 'wrong range returned: the agent will read whole files' }],
  [416, { hasRanges: true, message: 'empty' }],
  [404, { hasRanges: undefined, message: 'listed, but no longer there' }],
]);

/** Without range support, aborts the download as early as possible. */
export async function readHead(
  client: RouterClient,
  name: string,
  bytes: number,
  signal: AbortSignal,
  clock: Clock,
): Promise<Head | (Finding & { readonly hasRanges: boolean | undefined })> {
  const consume = async (body: AsyncIterable<Uint8Array>, _start: number, facts: DownloadFacts): Promise<Head> => {
    const observedMs = clock.now();
    const chunks: Uint8Array[] = [];
    let length = 0;
    for await (const chunk of body) {
      chunks.push(chunk);
      length += chunk.length;
      // A response of exactly this length ends by itself, and its connection stays usable.
      if (length > bytes) break;
    }
    return { head: Buffer.concat(chunks).subarray(0, bytes), facts, observedMs };
  };
  try {
    return await client.readLog(name, signal, consume, { start: 0, last: bytes - 1 });
  } catch (error) {
    const odd = ODD_ANSWERS.get(Object(error).status);
    if (!odd) throw error;
    return odd;
  }
}

/** Such as `+01:00`. */
export function renderOffset(offsetMs: number): string {
  const minutes = Math.abs(Math.round(offsetMs / 60_000));
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, '0'));
  return `${offsetMs < 0 ? '-' : '+'}${hours}:${rest}`;
}
