import { createSeededRandom, createSteppedClock, type Random, type SteppedClock } from '../../src/base/index.ts';
import { type LogEvent, openArchivePool, type RecordLog, TailMemory, tailOnce, Zone } from '../../src/logs/index.ts';
import type { LogRecord } from '../../src/model/index.ts';
import { RouterClient } from '../../src/router/index.ts';
import { type FaultName, type SimulatedRouter, startSimulator } from '../../src/simulator/index.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const DAY_MS = 24 * 60 * MINUTE_MS;
const START_MS = Date.UTC(2026, 10, 21, 12, 0, 0);
const COMPONENTS = ['network', 'system'];
/** Faults of downloads and of the whole interface. What waits on the clock is left to scenarios of its own. */
const FAULTS: readonly FaultName[] = [
  'reset_mid_body',
  'truncate_body',
  'http_500',
  'unauthorized',
  'forbidden',
  'garbage_json',
  'html_200',
  'corrupt_archive',
  'truncated_archive',
  'archive_as_text',
  'down',
];

/** A life of 24 virtual hours of one router, and what an agent that is killed now and then made of it. */
export interface Life {
  /** Every line that the router ever wrote, by component, with the number that the line carries. */
  readonly truth: ReadonlyMap<string, readonly WrittenLine[]>;
  readonly records: readonly LogRecord[];
  readonly events: readonly LogEvent[];
  /** What happened, for a failure's message. */
  readonly story: readonly string[];
}

export interface WrittenLine {
  readonly id: number;
  readonly text: string;
  readonly lost: boolean;
  readonly loss: string | undefined;
  readonly generation: number;
}

/** Ends a turn as `kill -9` would: nothing after this happens. */
class Killed extends RangeError {
  override readonly name = 'Killed';
}

/** Positions and records in one transaction, as the store keeps them, and a way to die at either side of it. */
class MortalLog implements RecordLog {
  readonly positions = new Map<string, string>();
  readonly lines: string[] = [];
  /** Commits until the agent dies; before (`false`) or after (`true`) the transaction. */
  death: { commits: number; isAfter: boolean } | undefined;

  readPositions(): ReadonlyMap<string, string> {
    return new Map(this.positions);
  }

  commit({ component, position, lines }: Parameters<RecordLog['commit']>[0]): void {
    const isDying = this.death !== undefined && this.death.commits-- <= 0;
    if (isDying && !this.death?.isAfter) throw new Killed('before the transaction');
    this.positions.set(component, position);
    for (const line of lines) this.lines.push(line);
    if (isDying) throw new Killed('after the transaction');
  }
}

/** Lives the life of this seed. */
export async function live(seed: number): Promise<Life> {
  const random = createSeededRandom(seed);
  const upTo = (count: number) => Math.floor(random() * count);
  const chance = (share: number) => random() < share;
  const clock = createSteppedClock(START_MS);
  const timezone = chance(0.5) ? 'Europe/Berlin' : 'America/New_York';
  const hasRepeats = chance(0.5);
  const compressionMs = [0, 3, 20, 90][upTo(4)] ?? 0;
  await using simulator = await startSimulator({
    routers: 1,
    clock,
    seed,
    plainHttp: true,
    timezone,
    features: { rangeRequests: chance(0.5), gzip: chance(0.3) },
    logs: {
      maxSizeBytes: [500, 2000, 8000][upTo(3)] ?? 500,
      maxFiles: 2 + upTo(4),
      compressionMs: compressionMs * SECOND_MS,
      showRepeats: hasRepeats,
      blockBytes: chance(0.2) ? 256 : 0,
      tornBytes: chance(0.3) ? 4 : 0,
      severityBrackets: chance(0.3),
    },
  });
  const [router] = simulator.routers;
  if (!router) throw new RangeError('There is no router');
  await using archives = openArchivePool({ workers: 1 });
  const isZoneKnown = chance(0.6);
  const log = new MortalLog();
  const events: LogEvent[] = [];
  const story: string[] = [];
  const tell = (text: string) => story.push(`${new Date(clock.now()).toISOString().slice(11, 19)} ${text}`);
  let client = createClient(router, clock);
  let memory = new TailMemory();
  const turn = async () => {
    try {
      await tailOnce(
        {
          router: { name: router.name, labels: {} },
          source: client,
          records: log,
          archives,
          clock,
          zone: new Zone(isZoneKnown ? timezone : undefined),
          isWanted: () => true,
          report: (event) => {
            events.push(event);
            if (event.type === 'log-gap-found') tell(`gap ${event.component} ${event.certainty} ${event.reason}`);
            if (event.type === 'log-reset') tell(`reset ${event.component}`);
          },
          memory,
        },
        new AbortController().signal,
      );
    } catch (cause) {
      tell(`turn ended: ${cause instanceof Error ? cause.message : String(cause)}`);
      if (!(cause instanceof Killed)) return;
      // Another process, on the same state.
      log.death = undefined;
      memory = new TailMemory();
      await client.close();
      client = createClient(router, clock);
    }
  };

  const writer = new Writer(router, random, hasRepeats ? 0 : 0.05);
  // What is there at first contact, archives included; what was deleted before that nobody can know.
  for (let bursts = 1 + upTo(20); bursts > 0; bursts--) {
    writer.burst(upTo(12));
    await clock.advance(MINUTE_MS);
  }
  await turn();
  const unknown = new Set(
    COMPONENTS.flatMap((one) => readTruth(router, one).flatMap((line) => (line.loss ? line.id : []))),
  );
  const endOfMonotonic = clock.monotonic() + DAY_MS;
  let isDown = false;
  while (clock.monotonic() < endOfMonotonic) {
    const lullMs = chance(0.1) ? upTo(120) * MINUTE_MS : (5 + upTo(1500)) * SECOND_MS;
    // Lines come while nobody looks, and rotations with them.
    for (let bursts = 1 + upTo(3); bursts > 0; bursts--) {
      await clock.advance(Math.floor(lullMs / 4));
      writer.burst(upTo(12));
    }
    if (chance(0.04)) tell(`jump ${writer.jump()}`);
    if (chance(0.03)) {
      router.restart();
      tell('restart');
    }
    if (chance(0.01)) {
      await router.factoryReset();
      tell('factory reset');
    }
    if (chance(0.12)) {
      const name = FAULTS[upTo(FAULTS.length)] ?? 'http_500';
      if (name === 'down') {
        await router.fault('down');
        isDown = true;
      } else await router.fault(name, { path: chance(0.8) ? '/download/log' : '', times: 1 + upTo(4) });
      tell(`fault ${name}`);
    }
    if (chance(0.06)) {
      log.death = { commits: upTo(4), isAfter: chance(0.5) };
      tell(`will be killed ${log.death.isAfter ? 'after' : 'before'} ${log.death.commits}`);
    }
    await clock.advance(Math.floor(lullMs / 4));
    for (let turns = chance(0.3) ? 4 : 1; turns > 0; turns--) {
      await turn();
      await clock.advance(30 * SECOND_MS);
    }
    if (isDown || chance(0.2)) {
      await router.clearFault();
      isDown = false;
    }
  }
  // Quiet, and long enough for everything that is late to come or to be given up.
  await router.clearFault();
  log.death = undefined;
  // What the log daemon still has in its buffer would else be nowhere.
  for (const component of COMPONENTS) if (router.truth(component).length > 0) router.rotate(component, 'the end');
  for (let turns = 0; turns < 24; turns++) {
    await turn();
    await clock.advance(MINUTE_MS);
  }
  await client.close();
  const records = log.lines.map((line) => JSON.parse(line) as LogRecord);
  const truth = new Map(COMPONENTS.map((one) => [one, readTruth(router, one).filter(({ id }) => !unknown.has(id))]));
  return { truth, records, events, story };
}

function createClient(router: SimulatedRouter, clock: SteppedClock): RouterClient {
  // Whatever the client waits for, it need not wait: nobody else moves the clock during a turn.
  const hasty = { ...clock, sleep: async () => {} };
  return new RouterClient({ url: router.url, username: 'monitor', password: 'simulated', clock: hasty });
}

/** Writes lines that carry a number of their own, and moves the router's clock. */
class Writer {
  readonly #router: SimulatedRouter;
  readonly #random: Random;
  /** Share of messages that come twice; the daemon counts the second, so that each number stands in one line. */
  readonly #repeatShare: number;
  #count = 0;
  #offsetMs = 0;

  constructor(router: SimulatedRouter, random: Random, repeatShare: number) {
    this.#router = router;
    this.#random = random;
    this.#repeatShare = repeatShare;
  }

  burst(lines: number): void {
    for (let line = 0; line < lines; line++) {
      const component = COMPONENTS[Math.floor(this.#random() * COMPONENTS.length)] ?? 'network';
      const message = `<${++this.#count}> ${'x'.repeat(Math.floor(this.#random() * 120))}`;
      this.#router.appendLog(component, message);
      if (this.#random() < this.#repeatShare) this.#router.appendLog(component, message);
    }
  }

  /** Sets the router's clock: mostly a little, sometimes years, and back again the next time. */
  jump(): number {
    const choices = [-3600, -300, -7, 7, 300, 3600, 86_400 * 400, -86_400 * 20_000];
    const seconds = choices[Math.floor(this.#random() * choices.length)] ?? 0;
    const offsetMs = this.#offsetMs === 0 ? seconds * SECOND_MS : -this.#offsetMs;
    this.#offsetMs += offsetMs;
    this.#router.jumpClock(offsetMs);
    return offsetMs / SECOND_MS;
  }
}

function readTruth(router: SimulatedRouter, component: string): WrittenLine[] {
  return router
    .truth(component)
    .flatMap(({ text, lostUnread, loss, generation }) =>
      [...text.matchAll(/<(\d+)>/g)].map(([, id]) => ({ id: Number(id), text, lost: lostUnread, loss, generation })),
    );
}
