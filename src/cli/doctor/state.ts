import { dirname, resolve } from 'node:path';
import type { Config } from '../../config/index.ts';
import { examineStateFolder, type FolderFinding } from '../../store/index.ts';
import type { CommandIo } from '../terminal/io.ts';
import { paintVerdict, renderSteps, toStepJson } from './report.ts';
import { createCleaner, judge } from './steps.ts';

/** The results of testing the folder of the state. */
export interface StateReport {
  /** A block for people. */
  readonly text: string;
  /** An object for programs. */
  readonly json: object;
  /** True when a test failed. */
  readonly hasFailed: boolean;
}

/** Tests the folder of the state: usable by this account, and with enough free space. Changes nothing. */
export async function examineState(
  { storage, dead_letters: deadLetters }: Config,
  configFile: string,
  io: CommandIo,
): Promise<StateReport> {
  const { path } = storage;
  const found = await examineStateFolder({
    path,
    spoolBytesMax: storage.spool_max,
    recentBytesMax: storage.recent,
    lettersBytesMax: deadLetters.max,
  });
  // Units and images name another folder with a flag of `run`, which is unknown here.
  const isDefault = path === resolve(dirname(configFile), 'data');
  const clean = createCleaner([]);
  const steps = (isDefault ? found.map(soften) : found).map((step) => ({ ...step, message: clean(step.message) }));
  const verdict = judge(steps);
  return {
    text: `${paintVerdict(`state  ${clean(path)}  ${verdict}`, verdict, io)}\n${renderSteps(steps, io)}`,
    json: { path, result: verdict, steps: steps.map(toStepJson) },
    hasFailed: verdict === 'failed',
  };
}

function soften(finding: FolderFinding): FolderFinding {
  if (finding.verdict !== 'failed') return finding;
  return {
    ...finding,
    verdict: 'warning',
    hint: 'This is the default folder: without --storage.path, run fails with it',
  };
}
