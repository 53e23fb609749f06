import type { Fleet } from './fleet.ts';

const SECOND_MS = 1000;
const COMPONENTS = ['network', 'system', 'events', 'firewall', 'portal'] as const;

/** Options of the simulator under which {@link tellStory} gives the same logs every time. */
export const STORY_SIMULATOR = { routers: 1, seed: 7, logs: { compressionMs: 40 * SECOND_MS, maxFiles: 50 } } as const;

/** What happens beside the logs, where an agent runs. */
export interface StoryActs {
  /** The laggard's receiver goes away. */
  closeLaggard(): Promise<void>;
  /** Archives are cut off in transit from now on. */
  cutArchives(): Promise<void>;
}

/**
 * Half an hour in the life of one router. An agent that runs meanwhile, with a sink that refuses long records and one whose
 * receiver goes away, and is stopped at the end, leaves a store with: files that were read to their end, one that is waiting
 * because it came cut off, one that is pending because it is still being compressed, one of a second generation (it begins
 * like another), records in the spool and a dead letter.
 */
export async function tellStory(fleet: Pick<Fleet, 'router' | 'advance'>, acts: StoryActs): Promise<void> {
  const router = fleet.router();
  for (const component of COMPONENTS) for (let line = 0; line < 4; line++) router.appendLog(component, `first ${line}`);
  await fleet.advance(60 * SECOND_MS);

  router.appendLog('network', 'the last of its file');
  router.rotate('network', 'the first of the second file');
  await fleet.advance(120 * SECOND_MS);
  router.appendLog('network', `too long for one sink ${'x'.repeat(3000)}`);
  router.rotate('network', 'the first of the third file');
  await fleet.advance(120 * SECOND_MS);

  await acts.closeLaggard();
  router.appendLog('portal', 'while one receiver is away');
  await startAlike(fleet, 'firewall', 300 * SECOND_MS);
  await fleet.advance(120 * SECOND_MS);

  await acts.cutArchives();
  router.appendLog('events', 'only in the archive that comes cut off');
  router.rotate('events', 'behind the archive');
  await fleet.advance(65 * SECOND_MS);

  router.appendLog('system', 'only in the file that is being compressed');
  router.rotate('system', 'behind the file that is being compressed');
  await fleet.advance(30 * SECOND_MS);
}

/** A new file whose first line is, to the second, that of the first one: the router's clock is set back for a moment. */
async function startAlike({ router, advance }: Pick<Fleet, 'router' | 'advance'>, component: string, agoMs: number) {
  router().jumpClock(-agoMs);
  router().rotate(component, 'first 0');
  router().jumpClock(agoMs);
  await advance(SECOND_MS);
  router().appendLog(component, 'in the file that begins like another');
}
