import { type Clock, openDeadline, renderMany } from '../../base/index.ts';
import {
  adviseClosed,
  ConnectionCheck,
  equals,
  type RouterClient,
  RouterError,
  type ShownCertificate,
} from '../../client/index.ts';
import { listRequestSecrets, type RouterSettings, toClientOptions } from '../../config/index.ts';
import { isUnverified } from '../../settings/index.ts';
import {
  createPollPlan,
  type DocumentSource,
  type PollPlan,
  type PollTarget,
  readTarget,
  SilenceCount,
  type TargetReading,
  TIME_RESOURCE,
  toRouterTime,
} from '../../status/index.ts';
import { estimateMonth } from '../support/month-use.ts';
import { createClient, logOut } from '../support/read-config.ts';
import {
  createCleaner,
  type Examination,
  type Finding,
  judge,
  type Learnt,
  type RouterReport,
  StepRecorder,
  toFailure,
} from './examination.ts';
import { examineLogs } from './log-stages.ts';

interface Tally {
  readonly read: Set<string>;
  failed: number;
  readonly silences: SilenceCount;
}

/**
 * Reads the status resources that the agent would read, but none through readers (configuration, generic, log_files).
 * The device is unknown, so no condition `when` is met: an empty resource of certain devices is no failure. Resolves to
 * true while the router is reachable.
 */
async function examineStatus(examination: Examination): Promise<boolean> {
  const { settings, recorder } = examination;
  const plan = createPollPlan(settings.modules, settings.poll.interval);
  const tally: Tally = { read: new Set(), failed: 0, silences: new SilenceCount() };
  for (const [index, target] of plan.targets.entries()) {
    if (await examineResource(target, examination, tally)) continue;
    const left = plan.targets.length - index - 1;
    if (left > 0) recorder.skip('status', `${renderMany(left, 'more resource')} not tried after ${target.name}`);
    return false;
  }
  noteAbsence(plan, tally, examination);
  return true;
}

async function examineResource(target: PollTarget, examination: Examination, tally: Tally): Promise<boolean> {
  const { client, clock, settings, signal, recorder, learnt } = examination;
  const source: DocumentSource = {
    readDocument: async (path, targetSignal) => {
      const answer = await client.readDocument(path, targetSignal);
      if (path === TIME_RESOURCE) learnt.time = toRouterTime(answer);
      return answer;
    },
  };
  let isGone = false;
  await recorder.run(`status ${target.name}`, async () => {
    const context = { source, clock, zone: settings.timezone, configHash: undefined };
    const reading = await readTarget(target, context, signal);
    isGone = tally.silences.isGoneAfter(reading.error);
    if (reading.state === 'read') tally.read.add(target.path);
    if (reading.state === 'failed') tally.failed++;
    return toFinding(target, reading, settings.name);
  });
  return !isGone;
}

function toFinding(
  target: PollTarget,
  { state, families, faults, isUnread, error, code }: TargetReading,
  router: string,
): Finding {
  switch (state) {
    case 'read': {
      const series = families.reduce((sum, { samples }) => sum + samples.length, 0);
      const unclear = faults.length > 0 ? `, ${renderMany(faults.length, 'value')} not understood` : '';
      if (isUnread) {
        const hint = `Its structure differs from what its modules expect (${target.modules.join(', ')}). See "router-exporter status ${router} ${target.path}", and docs/modules.md for a module of your own`;
        return { verdict: 'warning', message: `answered, but no metric could be read from it${unclear}`, hint };
      }
      return { message: series === 0 ? `empty${unclear}` : `${series} series${unclear}` };
    }
    case 'forbidden': {
      const hint = `Give the account the group read on the router, or leave out what needs it: ${renderLeftOut(target)}`;
      return { verdict: 'warning', message: 'not permitted for this account', hint };
    }
    case 'unsupported': {
      if (target.isOptional || !target.isNamed) return { verdict: 'skipped', message: 'not on this device' };
      const hint = `Make it optional in its module, or leave the module out: ${renderLeftOut(target)}`;
      return { verdict: 'warning', message: 'this router does not have it', hint };
    }
    case 'failed':
      return toFailure(error, code === 'timeout' ? SLOW_HINT : undefined);
  }
}

const SLOW_HINT = 'If the router is only slow, raise poll.timeout of this router';

function renderLeftOut({ modules }: Pick<PollTarget, 'modules'>): string {
  return `modules: [default, ${modules.map((name) => `"!${name}"`).join(', ')}]`;
}

function noteAbsence({ patterns }: PollPlan, { read, failed }: Tally, { recorder }: Examination): void {
  if (read.size === 0 && failed === 0) {
    recorder.record('status', { verdict: 'failed', message: 'the router returned none of the resources' });
    return;
  }
  for (const { name, paths, isOptional } of patterns) {
    if (isOptional || failed > 0 || paths.some((path) => read.has(path))) continue;
    const hint = 'Make the resource optional in its module, or leave the module out of modules of this router';
    recorder.record(`status ${name}`, { verdict: 'warning', message: 'this router has none of these', hint });
  }
}

interface ExaminationOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** With sinks, unreadable logs are a failure, otherwise a warning. */
  readonly hasSinks: boolean;
  readonly onStep: (step: string) => void;
}

const ROUTER_MS_MAX = 5 * 60_000;
const EXPIRY_MS_MIN = 30 * 86_400_000;
const DAY_MS = 86_400_000;

/** Each stage resolves to true if the next one makes sense. */
const STAGES: readonly (readonly [step: string, run: (examination: Examination) => Promise<boolean>])[] = [
  ['dns', resolve],
  ['connect', connect],
  ['tls', secure],
  ['auth', logIn],
  ['rights', findRights],
  ['status', examineStatus],
  ['logs', examineLogs],
];

/** Tests one router and logs out. Rejects only with the signal's reason. */
export async function examineRouter(settings: RouterSettings, options: ExaminationOptions): Promise<RouterReport> {
  const { clock, hasSinks, onStep } = options;
  using deadline = openDeadline(clock, ROUTER_MS_MAX, options.signal);
  const { url, poll } = settings;
  const probe = new ConnectionCheck({ ...toClientOptions(settings), timeoutMs: poll.timeout, clock });
  const client = createClient(settings, clock);
  const countBytes = () => [probe, client].reduce((sum, { wireBytes }) => sum + wireBytes.sent + wireBytes.received, 0);
  const clean = createCleaner(listRequestSecrets(settings).map((secret) => secret.reveal()));
  const recorder = new StepRecorder({ clock, countBytes, clean, signal: options.signal, onStep });
  const learnt: Learnt = {};
  const startedMs = clock.monotonic();
  try {
    const examination = { settings, client, probe, recorder, learnt, clock, signal: deadline.signal, hasSinks, clean };
    let stoppedAt: string | undefined;
    for (const [step, run] of STAGES) {
      if (stoppedAt !== undefined) recorder.skip(step, `not tried after ${stoppedAt}`);
      else if (!(await run(examination))) stoppedAt = step;
    }
  } finally {
    probe.close();
    await logOut(client);
  }
  return {
    router: settings.name,
    url,
    verdict: judge(recorder.steps),
    steps: recorder.steps,
    learnt,
    durationMs: clock.monotonic() - startedMs,
    month: estimateMonth(recorder.steps, settings, hasSinks),
    bytes: {
      sent: probe.wireBytes.sent + client.wireBytes.sent,
      received: probe.wireBytes.received + client.wireBytes.received,
    },
  };
}

function resolve({ recorder, probe, signal, settings }: Examination): Promise<boolean> {
  const what = settings.proxy ? 'proxy ' : '';
  return recorder.run('dns', async () => ({ message: what + (await probe.resolve(signal)).join(', ') }));
}

function connect({ recorder, probe, signal, settings }: Examination): Promise<boolean> {
  const { url, proxy, source_address: sourceAddress } = settings;
  const way = proxy ? 'proxy.url of this router and the log of the proxy' : 'the url of this router';
  const hint = `No response: check host and port in ${way}, and the firewalls in between`;
  return recorder.run(
    'connect',
    async () => {
      const { address, port } = await probe.connect(signal);
      const from = sourceAddress === undefined ? '' : ` from ${sourceAddress}`;
      const on = proxy ? `proxy ${address} port ${port}${from}, which connects to ${new URL(url).host}` : undefined;
      return { message: on ?? `${address} port ${port}${from}` };
    },
    hint,
  );
}

async function secure({ recorder, probe, signal, learnt, clock, settings }: Examination): Promise<boolean> {
  if (!probe.isTls) {
    recorder.skip('tls', 'url is http: all traffic, including the password, is unencrypted');
    return true;
  }
  const isDone = await recorder.run('tls', async () => {
    const { protocol, certificate, fault } = await probe.secure(signal);
    learnt.certificate = certificate;
    learnt.tlsVersion = protocol;
    if (fault) throw fault;
    return judgeCertificate(certificate, protocol, clock.now(), settings);
  });
  // The client opens its own connection; two at once may be one too many for a small device.
  probe.close();
  return isDone;
}

function judgeCertificate(
  certificate: ShownCertificate | undefined,
  protocol: string,
  nowMs: number,
  { tls }: RouterSettings,
): Finding {
  if (!certificate) return { message: `${protocol}, unreadable certificate`, verdict: 'warning' };
  const { subject, notAfterMs, fingerprintSha256 } = certificate;
  const shown = `${protocol}, ${subject}`;
  if (isUnverified(tls)) {
    const hint = `Pin this certificate instead of tls.insecure_skip_verify: tls: { fingerprint_sha256: "${fingerprintSha256}" }. Compare it first with the device`;
    return { message: `${shown}, not checked`, verdict: 'warning', hint };
  }
  const leftMs = notAfterMs - nowMs;
  if (leftMs >= EXPIRY_MS_MIN) return { message: `${shown}, valid for ${Math.floor(leftMs / DAY_MS)} days` };
  const hint = 'Renew the certificate on the router, and tls.ca_file or tls.fingerprint_sha256 with it';
  const ends = leftMs < 0 ? 'has expired' : `expires in ${Math.floor(leftMs / DAY_MS)} days`;
  return { message: `${shown}, ${ends}`, verdict: 'warning', hint };
}

function logIn({ recorder, client, probe, signal, settings }: Examination): Promise<boolean> {
  const { auth, username } = settings;
  const suspect = (error: unknown) => {
    // A slow or busy router, or another device, proves nothing about TLS.
    if (!(error instanceof RouterError) || error.code !== 'connect') return undefined;
    return adviseClosed(probe.isTls);
  };
  return recorder.run(
    'auth',
    async () => {
      if (auth === 'token') {
        await client.logIn(signal);
        return { message: `as ${username}` };
      }
      if (await isAnswered(client, signal)) return { message: describeLogin(settings) };
      const hint = LOGIN_HINTS[auth];
      return { message: 'The router refused the request with 401', verdict: 'failed', hint };
    },
    suspect,
  );
}

const LOGIN_HINTS: Readonly<Record<Exclude<RouterSettings['auth'], 'token'>, string>> = {
  basic: 'Check username and password of this router, and whether it takes auth: basic',
  bearer: 'Check bearer_token of this router, and whether it takes auth: bearer',
  none: 'The router requires authentication: set auth, username and password of this router, or its headers',
};

function describeLogin({ auth, username, headers }: RouterSettings): string {
  if (auth === 'basic') return `as ${username}, with each request`;
  if (auth === 'bearer') return 'with the token of the configuration';
  return headers ? 'with the headers of the configuration' : 'not needed';
}

/** Requests a resource that every device has; any response but 401 counts. */
async function isAnswered(client: RouterClient, signal: AbortSignal): Promise<boolean> {
  try {
    await client.readStatus('device_info', signal);
    return true;
  } catch (error) {
    const status: unknown = Object(error).status;
    if (status === undefined) throw error;
    return status !== 401;
  }
}

/** Reads the account's group from the list of users, if the account may read that. */
async function findRights({ recorder, client, signal, learnt, settings, clean }: Examination): Promise<boolean> {
  const { auth, username } = settings;
  if (auth === 'none' || auth === 'bearer') {
    recorder.skip('rights', auth === 'none' ? 'no account' : 'the token names no account');
    return true;
  }
  await recorder.run('rights', async () => {
    try {
      const filter = [equals('username', username)];
      const { list } = await client.configuration.read('administration/users', { filter }, signal);
      const group = list.find(({ parameters }) => parameters['username'] === username)?.parameters['group'];
      if (group === undefined) return { message: 'may read the configuration; group unknown' };
      learnt.account = { group: clean(group) };
      const isMore = group === 'readwrite' ? ', more than needed: the agent changes nothing' : '';
      return { message: `group ${group}${isMore}` };
    } catch (error) {
      const status: unknown = Object(error).status;
      // Some firmware does not have this list.
      if (status === 404) return { message: 'unknown' };
      // A warning is enough: no other step needs the group.
      if (!(error instanceof RouterError && error.isForbidden)) return { ...toFailure(error), verdict: 'warning' };
      learnt.account = 'no configuration';
      return {
        message: 'may not read the configuration',
        verdict: 'warning',
        hint: 'Give the account the group read on the router, unless only its status is needed',
      };
    }
  });
  // The status and log steps show what is permitted.
  return true;
}
