import { isIP } from 'node:net';
import { arch, platform } from 'node:process';
import { createSystemClock, readVersion, renderBytes, renderMany } from '../base/index.ts';
import type { RouterClient } from '../client/index.ts';
import { listRequestSecrets, type RouterSettings } from '../config/index.ts';
import { LineMatcher } from '../logs/index.ts';
import { RouterReadError } from '../model/index.ts';
import { ANSWERS_MAX, type Bundle, type BundledAnswer, LOG_LISTING, renderBundle } from '../simulator/index.ts';
import {
  CONFIGURATION_LISTS,
  DocumentMasker,
  expandPath,
  type ModuleDefinition,
  SilenceCount,
  STATUS_PATHS,
} from '../status/index.ts';
import { listModules } from './discover.ts';
import type { RouterReport } from './doctor/examination.ts';
import { readHead } from './doctor/log-stages.ts';
import { toRouterJson } from './doctor/report.ts';
import { examineRouter } from './doctor/router-stages.ts';
import { type CommandIo, confirm, EXIT, type ExitCode, openProgress } from './support/io.ts';
import { writeOutputFile } from './support/output-file.ts';
import { type ConfigFlags, withRouter } from './support/read-config.ts';

interface BundleFlags extends ConfigFlags {
  readonly router: string;
  /** Default: a file in the working directory, named after the time. */
  readonly output?: string | undefined;
  readonly logs?: boolean | undefined;
  readonly yes?: boolean | undefined;
}

const clock = createSystemClock();

/** Number of live log files read with `--logs`, and bytes of each. */
const LOGS_MAX = 20;
const LOG_BYTES = 16 * 1024;
const LIVE = '/current';
/** Characters of all documents together. Real ones have about ten thousand. */
const CHARACTERS_MAX = 8 * 1024 ** 2;
/** Readable only by the owner: a person has to look through it first. */
const FILE_MODE = 0o600;
/** Stands for the name of the router. */
const ROUTER = 'router';

/**
 * `bundle`: writes what `doctor` finds and what a router answers into one file, masked, for people who do not have the device.
 * Shows a summary and asks before it writes.
 */
export function bundle(flags: BundleFlags, io: CommandIo): Promise<ExitCode> {
  return withRouter(flags, io, async ({ settings, client, redact }) => {
    const progress = openProgress(io);
    const onStep = (step: string) => progress.update(step);
    try {
      const options = { clock, signal: io.signal, hasSinks: false, onStep };
      const report = await examineRouter({ ...settings, name: ROUTER }, options);
      const isOpen = report.steps.some(({ step, verdict }) => step === 'auth' && verdict === 'ok');
      const paths = isOpen ? listPaths(await listModules(flags, settings)) : [];
      const answers = await ask(client, paths, io.signal, onStep);
      const names = findList(answers, LOG_LISTING, 'log_files');
      const logs = flags.logs ? await readLogs(client, names, new LineMatcher([], redact), io.signal) : undefined;
      const found = { report, answers, logs };
      const file =
        flags.output ?? `bundle-${new Date(clock.now()).toISOString().replaceAll(/[-:]|\.\d+/g, '')}.json.gz`;
      const bytes = renderBundle(mask(settings, found));
      progress.end();
      io.stderr.write(renderSummary(flags.router, found));
      const refusal = await confirm(`Write ${file} (${renderBytes(bytes.length)})?`, flags.yes, io);
      if (refusal !== undefined) return refusal;
      await writeOutputFile(file, [bytes], FILE_MODE);
      io.stderr.write(`Wrote ${file}. Look through it before you send it to anybody: gunzip -c ${file}\n`);
      return EXIT.done;
    } finally {
      progress.end();
    }
  });
}

/** Returns a list in the answer for a path. */
function findList(answers: readonly BundledAnswer[], path: string, name: string): readonly unknown[] {
  const list: unknown = Object(answers.find((answer) => answer.path === path)?.body)[name];
  return Array.isArray(list) ? list : [];
}

interface Found {
  readonly report: RouterReport;
  readonly answers: readonly BundledAnswer[];
  /** Lines by the name of their file. */
  readonly logs: Readonly<Record<string, readonly string[]>> | undefined;
}

/** Lists the requests of an agent with any module. Of configuration lists, which contain secrets, the numbers of entries. */
function listPaths(modules: readonly ModuleDefinition[]): readonly string[] {
  const resources = modules.flatMap((module) => module.resources);
  const read = resources.flatMap(({ path, join }) => [path, join?.path ?? path]).flatMap(expandPath);
  const paths = [...STATUS_PATHS, ...read].map((path) => (path.startsWith('/') ? path : `/status/${path}`));
  const lists = CONFIGURATION_LISTS.map((list) => `/configuration/${list}?return_size=1`);
  return [...new Set([...paths, ...lists, LOG_LISTING])].slice(0, ANSWERS_MAX);
}

/** Requests one path after another, until the router is unavailable. Rejects only with the signal's reason. */
async function ask(
  client: RouterClient,
  paths: readonly string[],
  signal: AbortSignal,
  onStep: (step: string) => void,
): Promise<readonly BundledAnswer[]> {
  const answers: BundledAnswer[] = [];
  const silences = new SilenceCount();
  let characters = 0;
  for (const path of paths) {
    onStep(`${path}  ${answers.length + 1} of ${paths.length}`);
    const startedMs = clock.monotonic();
    let answer: Omit<BundledAnswer, 'path' | 'duration_ms'>;
    let failure: unknown;
    try {
      const { body, bytes, contentType, dateMs, status } = await client.call({ method: 'GET', path }, signal);
      characters += bytes.length;
      const date = dateMs === undefined ? undefined : new Date(dateMs).toISOString();
      const kept = characters <= CHARACTERS_MAX ? body : undefined;
      answer = { status, content_type: contentType, date, bytes: bytes.length, body: kept };
    } catch (error) {
      signal.throwIfAborted();
      failure = error;
      const { status, code = 'http' } = error instanceof RouterReadError ? error : {};
      answer = { status, error: code };
    }
    answers.push({ path, duration_ms: Math.round(clock.monotonic() - startedMs), ...answer });
    if (silences.isGoneAfter(failure)) break;
  }
  return answers;
}

/** Reads the whole lines at the beginning of the live files of a listing, as the configuration redacts them. */
async function readLogs(
  client: RouterClient,
  names: readonly unknown[],
  matcher: LineMatcher,
  signal: AbortSignal,
): Promise<Readonly<Record<string, readonly string[]>>> {
  const logs = new Map<string, readonly string[]>();
  const live = names.map(String).filter((name) => name.endsWith(LIVE));
  for (const name of live.slice(0, LOGS_MAX)) {
    // What an unreadable log answers is in the result of doctor.
    const read = await readHead(client, name, LOG_BYTES, signal, clock).catch(() => undefined);
    signal.throwIfAborted();
    const lines = read && 'head' in read ? read.head.toString('utf8').split('\n').slice(0, -1) : [];
    const message = matcher.of(name.slice(0, -LIVE.length));
    logs.set(name, message ? lines.map((line) => message.redact(line)) : lines);
  }
  return Object.fromEntries(logs);
}

/** Names of profiles that do not identify a router. */
const USUAL_PROFILE = /^(?:default|profile)[ _-]?\d*$/i;

/** Masks everything that a router or its configuration has named, the same text the same way everywhere. */
function mask(settings: RouterSettings, { report, answers, logs }: Found): Parameters<typeof renderBundle>[0] {
  const { name, url, username, proxy } = settings;
  const { certificate } = report.learnt;
  const names: readonly unknown[] = [
    ...[name, username, ...[url, proxy?.url ?? url].map((one) => new URL(one).hostname)],
    ...[certificate?.subject, certificate?.issuer, ...(certificate?.names ?? [])],
    ...findList(answers, '/profiles', 'profiles').map((profile) => Object(profile).name as unknown),
  ];
  const known = {
    token: listRequestSecrets(settings).map((secret) => secret.reveal()),
    // Addresses are recognised anyway, each in its own form.
    host: names.filter((text) => typeof text === 'string' && isIP(text) === 0 && !USUAL_PROFILE.test(text)),
  };
  // The group of the account is no identity.
  const { learnt, ...found } = toRouterJson(report);
  const { account: rights, ...more } = learnt;
  const doctor = { ...found, learnt: { ...more, rights } };
  const masker = new DocumentMasker([doctor, logs, ...answers.map(({ body }) => body)], known);
  return {
    bundle: 1,
    made_at: new Date(clock.now()).toISOString(),
    versions: { 'router-exporter': readVersion(), node: process.version, platform: `${platform} ${arch}` },
    doctor: masker.mask(doctor) as Bundle['doctor'],
    answers: answers.map((answer) => ({ ...answer, body: masker.mask(answer.body) })),
    logs: masker.mask(logs) as Bundle['logs'],
  };
}

function renderSummary(router: string, { report, answers, logs }: Found): string {
  const groups = Map.groupBy(answers, ({ status, error }) => status ?? error);
  const counts = [...groups].map(([status, { length }]) => `${length} with ${status}`).join(', ');
  const lines = Object.values(logs ?? {}).flat().length;
  return `Bundle of ${router}:
  doctor     ${report.verdict}, ${renderMany(report.steps.length, 'step')}, and what the router supports
  answers    ${answers.length}${counts && `: ${counts}`}; of configuration lists the number of entries
  log files  ${renderMany(findList(answers, LOG_LISTING, 'log_files').length, 'name')}, ${logs ? renderMany(lines, 'line') : 'no lines (--logs adds some)'}
  timings    of steps and answers; versions of router-exporter and Node.js
Masked: numbers of devices, cards and people, addresses, names, places and secrets that could be recognised.
`;
}
