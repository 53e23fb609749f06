import { open } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gunzip, gzipSync } from 'node:zlib';
import { z } from 'zod';
import { parseJson } from '../base/index.ts';
import { SimulatorError } from './simulator-error.ts';
import type { RestFeatures } from './simulator-options.ts';

/** Maximum sizes of a bundle; one of a device has some 10 KiB. Bytes. */
const FILE_BYTES_MAX = 16 * 1024 ** 2;
const JSON_BYTES_MAX = 64 * 1024 ** 2;
/** Maximum numbers: several times those of the known firmware. */
export const ANSWERS_MAX = 2000;
const LOGS_MAX = 500;
/** Of one log. */
const LINES_MAX = 20_000;
/** Masks can be longer than what they stand for. Characters. */
const LINE_LENGTH_MAX = 64 * 1024;
/** Longer than the timeout of any request. Milliseconds. */
const DELAY_MS_MAX = 10 * 60_000;
/** Some servers use higher ones, which the server of the simulator cannot send. */
const STATUS_MAX = 599;
/** Maximum size of what stands for a body that is not JSON, whose text is not in the bundle. Bytes. */
const FILLER_BYTES_MAX = 64 * 1024;
/** Request of the list of log files. */
export const LOG_LISTING = '/download/log?list_files=1';

const answerSchema = z.object({
  path: z.string().max(1024).startsWith('/'),
  /** Absent without an answer. */
  status: z.int().min(200).max(999).optional(),
  /** Why there is no answer: as in the label `reason`. */
  error: z.string().max(100).optional(),
  content_type: z.string().max(20_000).optional(),
  date: z.iso.datetime().optional(),
  duration_ms: z.number().min(0),
  bytes: z.int().min(0).optional(),
  /** Absent for a body that is not JSON. */
  body: z.unknown().optional(),
});
/** The answer of a router to one GET, masked. */
export type BundledAnswer = Readonly<z.input<typeof answerSchema>>;

const bundleSchema = z.object({
  bundle: z.literal(1),
  made_at: z.iso.datetime(),
  versions: z.record(z.string(), z.string()),
  /** As `doctor --json` shows a router. */
  doctor: z.looseObject({
    learnt: z.looseObject({ log_ranges: z.boolean().optional(), log_encoding: z.string().optional() }).optional(),
  }),
  answers: z.array(answerSchema).max(ANSWERS_MAX),
  /** Lines by the name of their file; absent unless asked for. */
  logs: z
    .record(z.string().max(LINE_LENGTH_MAX), z.array(z.string().max(LINE_LENGTH_MAX)).max(LINES_MAX))
    .refine((logs) => Object.keys(logs).length <= LOGS_MAX)
    .optional(),
});
/** What a router answers, masked, with what `doctor` found. */
export type Bundle = z.output<typeof bundleSchema>;

/** Renders the file of a bundle: JSON, compressed with gzip. */
export function renderBundle(bundle: z.input<typeof bundleSchema>): Buffer {
  return gzipSync(JSON.stringify(bundle, null, 1));
}

/** Reads a bundle, compressed or not. Throws {@link SimulatorError} `bad-option` for a file that is none. */
export async function readBundle(path: string): Promise<Bundle> {
  const refuse = (reason: string, cause?: unknown) => {
    const message = `${path} is not a bundle as router-exporter bundle writes it: ${reason}`;
    return new SimulatorError('bad-option', message, { cause });
  };
  let read: ReturnType<typeof bundleSchema.safeParse>;
  try {
    await using file = await open(path);
    const { size } = await file.stat();
    if (size > FILE_BYTES_MAX) throw refuse(`it has more than ${FILE_BYTES_MAX} bytes`);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size), 0, size, 0);
    const content = buffer.subarray(0, bytesRead);
    const isCompressed = content[0] === 0x1f && content[1] === 0x8b;
    const text = isCompressed ? await promisify(gunzip)(content, { maxOutputLength: JSON_BYTES_MAX }) : content;
    read = bundleSchema.safeParse(parseJson(text.toString('utf8')));
    // Throws for a body that is nested too deeply to be sent.
    JSON.stringify(read.data);
  } catch (cause) {
    throw cause instanceof SimulatorError ? cause : refuse('it cannot be read', cause);
  }
  const [issue] = read.error?.issues ?? [];
  const key = issue?.path.filter((part) => /^\w{1,40}$/.test(String(part))).join('.') || 'its content';
  if (issue) throw refuse(`${key}: ${issue.message}`);
  return read.data as Bundle;
}

/** Answer of a device to a GET. */
export interface RecordedAnswer {
  /** Absent: the connection ends without an answer. */
  readonly status: number | undefined;
  /** Time from the request to the answer, in milliseconds. */
  readonly delayMs: number;
  /** Header `Content-Type`. */
  readonly contentType: string;
  /** Header `Date`. Default: the time of the simulated router. */
  readonly date: string | undefined;
  /** Text of the body. */
  readonly body: string;
}

/** What a simulated router needs to behave like a device. */
export interface Recording {
  /** By path and query below the root of the interface, as in `/status/lte2` and `/download/log?list_files=1`. */
  readonly answers: ReadonlyMap<string, RecordedAnswer>;
  /** Text of log files by their names. */
  readonly logs: ReadonlyMap<string, string>;
  /** Features that the device has. */
  readonly features: Partial<RestFeatures>;
}

/** Reads the recording in a bundle. Throws like {@link readBundle}. */
export async function readRecording(path: string): Promise<Recording> {
  const { answers, doctor, logs = {} } = await readBundle(path);
  const { log_ranges: rangeRequests = false, log_encoding: encoding } = doctor.learnt ?? {};
  return {
    answers: new Map(answers.map((answer) => [answer.path, toRecordedAnswer(answer)])),
    logs: new Map(Object.entries(logs).map(([name, lines]) => [name, lines.map((line) => `${line}\n`).join('')])),
    features: { rangeRequests, gzip: encoding === 'gzip' },
  };
}

function toRecordedAnswer({ status, error, date, body, bytes = 0, ...answer }: BundledAnswer): RecordedAnswer {
  return {
    status: status && Math.min(status, STATUS_MAX),
    // The client ends a request that timed out.
    delayMs: status === undefined && error === 'timeout' ? DELAY_MS_MAX : Math.min(answer.duration_ms, DELAY_MS_MAX),
    contentType: (answer.content_type ?? 'application/json').slice(0, 200).replaceAll(/[^\x20-\x7e]/g, '?'),
    date: date === undefined ? undefined : new Date(date).toUTCString(),
    body: body === undefined ? 'x'.repeat(Math.min(bytes, FILLER_BYTES_MAX)) : JSON.stringify(body),
  };
}
