import { TIME_RESOURCE, toRouterTime } from '../../agent/index.ts';
import {
  createPollPlan,
  type DocumentSource,
  type PollPlan,
  type PollTarget,
  readTarget,
  SilenceCount,
  type TargetReading,
} from '../../status/index.ts';
import { type Examination, type Finding, toFailure } from './steps.ts';

/** Results of the resources so far. */
interface Tally {
  readonly read: Set<string>;
  failed: number;
  readonly silences: SilenceCount;
}

/**
 * Reads each status resource that the agent would read, in the same way. Resolves to true while the router is reachable.
 */
export async function examineStatus(examination: Examination): Promise<boolean> {
  const { settings, recorder } = examination;
  const plan = createPollPlan(settings.modules, settings.poll.interval);
  const tally: Tally = { read: new Set(), failed: 0, silences: new SilenceCount() };
  for (const [index, target] of plan.targets.entries()) {
    if (await examineResource(target, examination, tally)) continue;
    const left = plan.targets.length - index - 1;
    if (left > 0) recorder.skip('status', `${left} more resources not tried after ${target.name}`);
    return false;
  }
  noteAbsence(plan, tally, examination);
  return true;
}

/** Reads one resource. Resolves to true while the router is reachable. */
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
      const unclear = faults.length > 0 ? `, ${faults.length} values not understood` : '';
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
    recorder.note('status', { verdict: 'failed', message: 'the router returned none of the resources' });
    return;
  }
  for (const { path, names, isOptional } of patterns) {
    if (isOptional || failed > 0 || names.some((name) => read.has(name))) continue;
    const hint = 'Make the resource optional in its module, or leave the module out of modules of this router';
    recorder.note(`status ${path}`, { verdict: 'warning', message: 'this router has none of these', hint });
  }
}
