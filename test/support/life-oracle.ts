import { existsSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSeededRandom, createSteppedClock, type Random, type SteppedClock } from '../../src/base/index.ts';
import { RouterClient } from '../../src/client/index.ts';
import { ChunkReader } from '../../src/logs/archive/chunk-reader.ts';
import { readDecoded } from '../../src/logs/archive/decode.ts';
import {
  type ArchivePool,
  FollowMemory,
  followOnce,
  type LogEvent,
  type LogSource,
  openArchivePool,
  type RecordLog,
  Zone,
} from '../../src/logs/index.ts';
import { FileReading, type ReadingResult } from '../../src/logs/reading/file-reading.ts';
import type { LogRecord } from '../../src/model/index.ts';
import { type FaultName, type SimulatedRouter, startSimulator } from '../../src/simulator/index.ts';
import { EmbeddedStore } from '../../src/store/index.ts';
import { type OpenStore, toOpenStore } from './open-store.ts';
import { toStarts } from './store-folder.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const DAY_MS = 24 * 60 * MINUTE_MS;
const SINK = 'oracle';
/** In memory where that is to be had: what a power cut would do is not played here. */
const FOLDER = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
const SPOOL_BYTES_MAX = 1024 * 1024 * 1024;
/** Where a router without a battery begins after each boot: at some fixed time, or at the date of its firmware. */
const BOOT_MS = [Date.UTC(2000, 0, 1, 0, 0, 20), Date.UTC(2022, 2, 1, 0, 0, 20)] as const;
/** One life of so many has no faults, kills and jumps: lines, rotations and expiry only. */
const CALM_EVERY = 8;
/** One of so many is as calm, and has a device that rotates by a timer; which one of those that are left. */
const TIMED_EVERY = 8;
const TIMED_SEED = 3;
/** No file of a device that rotates by a timer is deleted before it could be read. */
const TIMED_FILES = 64;
const START_MS = Date.UTC(2026, 10, 21, 12, 0, 0);
const COMPONENTS = ['network', 'system'];
/** Faults of downloads and of the whole interface. What waits on the clock is left to scenarios of its own. */
const FAULTS: readonly FaultName[] = [
  'reset_mid_body',
  'truncate_body',
  'http_500',
  'http_503',
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
  readonly router: string;
  readonly timezone: string;
  /** Every line that the router ever wrote and that was not lost before the agent first came, by component. */
  readonly truth: ReadonlyMap<string, readonly WrittenLine[]>;
  readonly records: readonly LogRecord[];
  readonly events: readonly LogEvent[];
  /** Events whose report died with the process right behind the commit of their record. */
  readonly unreported: ReadonlyMap<string, number>;
  /** Rotated files that were listed in a turn that came to its end, as `<component>/log-<stamp>`. */
  readonly knownFiles: ReadonlySet<string>;
  /** Files that were downloaded to their end in a turn that no kill ended, as `<component>/log-<stamp>`. */
  readonly readFiles: ReadonlySet<string>;
  /** Whether nothing went wrong at either side: then every file comes in its turn. */
  readonly isCalm: boolean;
  /** Whether the device rotates by a timer: then nothing is ever missing, and nothing has a reason to wait. */
  readonly isTimed: boolean;
  /** Messages that the router had when a turn began, and that were not stored when it ended; where nothing may wait. */
  readonly waits: readonly string[];
  /** Whether a missing file would have shown when the first line of a file was stored, by the part that its uids share. */
  readonly linked: ReadonlyMap<string, boolean>;
  /** What is known in the end of how files follow each other; `undefined` while nothing is. */
  readonly links: LinksJudged | undefined;
  /** Whether the router's clock was ever set: then names of files say little about their order. */
  readonly hasJumps: boolean;
  /** What happened, for a failure's message. */
  readonly story: readonly string[];
}

type LinksJudged = Extract<LogEvent, { readonly type: 'log-links-judged' }>;

export interface WrittenLine {
  /** Numbers of the messages in it; a line torn by a crash may hold none or two. */
  readonly ids: readonly number[];
  readonly text: string;
  readonly bytes: Buffer;
  readonly offset: number;
  readonly loss: string | undefined;
  readonly generation: number;
}

/** Ends a turn as `kill -9` would: nothing after this happens. */
class Killed extends RangeError {
  override readonly name = 'Killed';
}

/** The store of the product, and a way to die at either side of a transaction. */
class MortalLog implements RecordLog, AsyncDisposable {
  readonly #open: () => Promise<OpenStore>;
  #opened: OpenStore;
  /** Number of records that were stored. */
  #stored = 0;
  #isDead = false;
  /** Commits until the agent dies; before (`false`) or after (`true`) the transaction. */
  death: { commits: number; isAfter: boolean } | undefined;
  readonly unreported = new Map<string, number>();
  /** Numbers of the messages that were stored. */
  readonly ids = new Set<string>();
  readonly linked = new Map<string, boolean>();
  /** What is known now of how files follow each other. */
  links: LinksJudged | undefined;

  private constructor(open: () => Promise<OpenStore>, opened: OpenStore) {
    this.#open = open;
    this.#opened = opened;
  }

  /** `open` opens the same store each time, with the router in it. */
  static async create(open: () => Promise<OpenStore>): Promise<MortalLog> {
    return new MortalLog(open, await open());
  }

  readPositions(router: string): ReadonlyMap<string, string> {
    return this.#opened.store.readPositions(router);
  }

  readFacts(router: string): string | undefined {
    return this.#opened.store.readFacts(router);
  }

  async commit(...commits: Parameters<RecordLog['commit']>): Promise<void> {
    if (this.#isDead) throw new Killed('long ago');
    const isDying = this.death !== undefined && this.death.commits-- <= 0;
    this.#isDead = isDying;
    if (isDying && !this.death?.isAfter) throw new Killed('before the transaction');
    await this.#opened.store.commit(...commits);
    const { holds = false, refuted = [] } = this.links ?? {};
    const logs = commits.filter((commit) => 'lines' in commit);
    for (const { component, lines } of logs) {
      this.#stored += lines.length;
      for (const line of lines) {
        for (const [, id = ''] of line.matchAll(/<(\d+)>/g)) this.ids.add(id);
        const prefix = /"uid":"(\w{16})-/.exec(line)?.[1];
        if (prefix !== undefined && !this.linked.has(prefix))
          this.linked.set(prefix, holds && !refuted.includes(component));
      }
    }
    if (!isDying) return;
    for (const { event } of logs.flatMap(({ lines }) => Array.from(lines, (line) => JSON.parse(line) as LogRecord))) {
      if (event) this.unreported.set(event, (this.unreported.get(event) ?? 0) + 1);
    }
    throw new Killed('after the transaction');
  }

  /** Another process opens the store. */
  async reopen(): Promise<void> {
    this.death = undefined;
    this.#isDead = false;
    this.links = undefined;
    await this.#opened[Symbol.asyncDispose]();
    this.#opened = await this.#open();
  }

  /** All records, in the order in which a sink gets them. */
  async takeRecords(): Promise<LogRecord[]> {
    const lines = await this.#opened.take(SINK, this.#stored);
    return lines.map((line) => JSON.parse(line) as LogRecord);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened[Symbol.asyncDispose]();
  }
}

/** Where the records of a life go; opens the same store each time. */
export type OpenLifeStore = (options: {
  readonly sinks: readonly string[];
  readonly routers: readonly string[];
}) => Promise<OpenStore>;

/** The router as the agent sees it; between two requests, something may happen to either. */
class Wire implements LogSource {
  readonly #client: () => LogSource;
  readonly #meddle: (moment: 'listed' | 'downloaded', name: string) => void;
  /** Names of rotated files that were listed in this turn. */
  listed: string[] = [];
  /** Names of files that were downloaded to their end in this turn. */
  downloaded: string[] = [];

  constructor(client: () => LogSource, meddle: (moment: 'listed' | 'downloaded', name: string) => void) {
    this.#client = client;
    this.#meddle = meddle;
  }

  async listLogs(signal: AbortSignal): Promise<readonly string[]> {
    const names = await this.#client().listLogs(signal);
    this.listed.push(...names.filter((name) => name.includes('/log-')));
    this.#meddle('listed', '');
    return names;
  }

  readonly readLog: LogSource['readLog'] = async (name, signal, consume, options) => {
    const result = await this.#client().readLog(name, signal, consume, options);
    // Of a file that turned out to be another one, only the beginning was read.
    const kind = (result as Partial<ReadingResult> | undefined)?.kind;
    if (kind === 'taken' || kind === 'nothing') this.downloaded.push(name.replace(/\.bz2$/, ''));
    this.#meddle('downloaded', name);
    return result;
  };
}

/** Where lines of rotated files become records. */
export type LinesIn = 'main thread' | 'worker thread';

/** Kinds of lives repeat after this many seeds; those of the next ones read rotated files the other way. */
const WAYS_EVERY = 8;

/**
 * One of each for all lives of a process: threads are dear to start, and they keep nothing from one archive to the next.
 * Their clock stands still, so that no idle thread ends.
 */
const POOLS: Readonly<Record<LinesIn, ArchivePool>> = {
  'main thread': { read: readHere, close: () => Promise.resolve(), [Symbol.asyncDispose]: () => Promise.resolve() },
  'worker thread': openArchivePool({ workers: 1, clock: createSteppedClock(START_MS) }),
};

/** Reads an archive on this thread, as {@link openArchivePool} does in one of its own. */
async function readHere(...[source, options, limits, { signal, onBegun } = {}]: Parameters<ArchivePool['read']>) {
  const reading = new FileReading(options);
  onBegun?.(reading);
  return await readDecoded(new ChunkReader(source, signal), limits, reading);
}

/** The way in which a life reads rotated files. */
export function wayOf(seed: number): LinesIn {
  return Math.floor(seed / WAYS_EVERY) % 2 === 0 ? 'main thread' : 'worker thread';
}

/** Lives the life of this seed. `openStore`: where its records go; default: a folder. */
export async function live(seed: number, linesIn: LinesIn = wayOf(seed), openStore?: OpenLifeStore): Promise<Life> {
  const archives = POOLS[linesIn];
  const random = createSeededRandom(seed);
  const upTo = (count: number) => Math.floor(random() * count);
  const chance = (share: number) => random() < share;
  const clock = createSteppedClock(START_MS);
  const timezone = chance(0.5) ? 'Europe/Berlin' : 'America/New_York';
  const hasRepeats = chance(0.5);
  const isTimed = seed % TIMED_EVERY === TIMED_SEED;
  const isCalm = isTimed || seed % CALM_EVERY === 0;
  const compressionMs = [0, 3, 20, 90][isCalm ? 0 : upTo(4)] ?? 0;
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
      ...(isTimed && {
        rotateEveryMs: ([5, 20, 120][upTo(3)] ?? 5) * MINUTE_MS,
        silentByNight: ['network'],
        maxFiles: TIMED_FILES,
        blockBytes: 0,
      }),
    },
  });
  const [router] = simulator.routers;
  if (!router) throw new RangeError('There is no router');
  const isZoneKnown = chance(0.6);
  const zone = new Zone(isZoneKnown ? timezone : undefined);
  /** Logs in a folder in memory, and no battery behind the clock: boots begin with the same line. */
  const isVolatile = !isCalm && chance(0.2);
  const hasJumps = isVolatile || (!isCalm && chance(0.5));
  await using folder = await mkdtempDisposable(join(FOLDER, 'oracle-'));
  const inFolder: OpenLifeStore = ({ sinks }) => {
    const options = { path: folder.path, sinks: toStarts(sinks), spoolBytesMax: SPOOL_BYTES_MAX, now: () => 0 };
    return Promise.resolve(toOpenStore(new EmbeddedStore(options)));
  };
  const open = openStore ?? inFolder;
  await using log = await MortalLog.create(() => open({ sinks: [SINK], routers: [router.name] }));
  const events: LogEvent[] = [];
  const story: string[] = [];
  const waits: string[] = [];
  const tell = (text: string) => story.push(`${new Date(clock.now()).toISOString().slice(11, 19)} ${text}`);
  let client = createClient(router, clock);
  let memory = new FollowMemory();
  const knownFiles = new Set<string>();
  const readFiles = new Set<string>();
  const writer = new Writer(router, random, hasRepeats ? 0 : 0.05, BOOT_MS[seed % 2 === 0 ? 1 : 0]);
  let isMeddling = false;
  let isRotating = false;
  const wire = new Wire(
    () => client,
    (moment, name) => {
      if (isRotating) writer.rotate();
      isRotating = false;
      if (!isMeddling) return;
      // Lines and rotations come between a listing and a download too, and so does death.
      if (chance(0.05)) writer.burst(upTo(12));
      if (!isCalm && moment === 'downloaded' && chance(0.002)) throw new Killed(`behind the download of ${name}`);
    },
  );
  const turn = async () => {
    wire.listed = [];
    wire.downloaded = [];
    let isKilled = false;
    try {
      await followOnce(
        {
          router: { name: router.name, labels: {} },
          source: wire,
          records: log,
          archives,
          clock,
          zone,
          isWanted: () => true,
          report: (event) => {
            events.push(event);
            if (event.type === 'log-links-judged') log.links = event;
            if (event.type === 'log-gap-found') tell(`gap ${event.component} ${event.certainty} ${event.reason}`);
            if (event.type === 'log-reset') tell(`reset ${event.component}`);
          },
          memory,
        },
        new AbortController().signal,
      );
      for (const name of wire.listed) knownFiles.add(name.replace(/\.bz2$/, ''));
    } catch (cause) {
      tell(`turn ended: ${cause instanceof Error ? cause.message : String(cause)}`);
      if (!(cause instanceof Killed)) return;
      isKilled = true;
      // Another process, on the same state.
      await log.reopen();
      memory = new FollowMemory();
      await client.close();
      client = createClient(router, clock);
    } finally {
      // What the dead knew of the ends of files may have died with it.
      if (!isKilled) for (const name of wire.downloaded) readFiles.add(name);
    }
  };

  // What is there at first contact, archives included; what was deleted before that nobody can know.
  for (let bursts = isCalm ? 1 : 1 + upTo(20); bursts > 0; bursts--) {
    writer.burst(isCalm ? 12 : upTo(12));
    await clock.advance(MINUTE_MS);
  }
  // Where nothing is known yet that a file could follow, only a second listing shows a rotation behind the first.
  isRotating = isCalm && !isTimed;
  await turn();
  const lost = new Set(
    COMPONENTS.flatMap((one) =>
      readTruth(router, one).flatMap((line) => (line.loss ? `${one}/${line.generation}` : [])),
    ),
  );
  isMeddling = true;
  const endOfMonotonic = clock.monotonic() + DAY_MS;
  let isDown = false;
  while (clock.monotonic() < endOfMonotonic) {
    const lullMs = chance(0.1) ? upTo(120) * MINUTE_MS : (5 + upTo(1500)) * SECOND_MS;
    // Lines come while nobody looks, and rotations with them.
    for (let bursts = 1 + upTo(3); bursts > 0; bursts--) {
      await clock.advance(Math.floor(lullMs / 4));
      writer.burst(upTo(12));
    }
    // The name of what is new soon is gone again.
    if (!isTimed && chance(0.05))
      for (let rotations = 1 + upTo(6); rotations > 0; rotations--) {
        writer.rotate();
        await clock.advance((1 + upTo(30)) * SECOND_MS);
      }
    if (hasJumps && !isVolatile && chance(0.08)) tell(`jump ${writer.jump()}`);
    if (isVolatile && chance(0.08)) {
      for (let boots = 1 + upTo(2); boots > 0; boots--) {
        await router.factoryReset();
        writer.boot(clock.now(), 1 + upTo(8));
      }
      tell('boot without logs');
    }
    if (!isCalm && chance(0.03)) {
      router.restart();
      tell('restart');
    }
    if (!isCalm && !isVolatile && chance(0.01)) {
      await router.factoryReset();
      tell('factory reset');
    }
    if (!isCalm && chance(0.12)) {
      const name = FAULTS[upTo(FAULTS.length)] ?? 'http_500';
      if (name === 'down') {
        await router.fault('down');
        isDown = true;
      } else await router.fault(name, { path: chance(0.8) ? '/download/log' : '', times: 1 + upTo(4) });
      tell(`fault ${name}`);
    }
    if (!isCalm && chance(0.06)) {
      // Archives that come as text and break off: a part of their lines counts.
      await router.fault('archive_as_text', { path: '/download/log', times: 20 });
      await router.fault(chance(0.5) ? 'truncate_body' : 'reset_mid_body', {
        path: '/download/log',
        times: 2 + upTo(8),
      });
      tell('text that breaks off');
    }
    if (!isCalm && chance(0.06)) {
      log.death = { commits: upTo(4), isAfter: chance(0.5) };
      tell(`will be killed ${log.death.isAfter ? 'after' : 'before'} ${log.death.commits}`);
    }
    await clock.advance(Math.floor(lullMs / 4));
    for (let turns = chance(0.3) ? 3 : 1; turns > 0; turns--) {
      const present = isTimed ? COMPONENTS.flatMap((one) => readTruth(router, one)) : [];
      await turn();
      for (const { ids, text } of present) if (ids.some((id) => !log.ids.has(`${id}`))) waits.push(text);
      await clock.advance(30 * SECOND_MS);
    }
    if (isDown || chance(0.2)) {
      await router.clearFault();
      isDown = false;
    }
  }
  // Quiet, and long enough for everything that is late to come or to be given up.
  await router.clearFault();
  isMeddling = false;
  log.death = undefined;
  // What the log daemon still has in its buffer would else be nowhere.
  for (const component of writer.hasWritten) router.rotate(component, 'the end');
  for (let turns = 0; turns < 12; turns++) {
    await turn();
    await clock.advance(2 * MINUTE_MS);
  }
  await client.close();
  const truth = COMPONENTS.map(
    (one) => [one, readTruth(router, one).filter(({ generation }) => !lost.has(`${one}/${generation}`))] as const,
  );
  return {
    router: router.name,
    timezone,
    truth: new Map(truth),
    records: await log.takeRecords(),
    events,
    unreported: log.unreported,
    knownFiles,
    readFiles,
    isCalm,
    isTimed,
    waits,
    linked: log.linked,
    links: log.links,
    hasJumps,
    story,
  };
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
  readonly #bootMs: number;
  #count = 0;
  #offsetMs = 0;
  readonly hasWritten = new Set<string>();

  constructor(router: SimulatedRouter, random: Random, repeatShare: number, bootMs: number) {
    this.#bootMs = bootMs;
    this.#router = router;
    this.#random = random;
    this.#repeatShare = repeatShare;
  }

  burst(lines: number): void {
    for (let line = 0; line < lines; line++) {
      const component = COMPONENTS[Math.floor(this.#random() * COMPONENTS.length)] ?? 'network';
      const message = `<${++this.#count}> ${'x'.repeat(Math.floor(this.#random() * 120))}`;
      this.#router.appendLog(component, message);
      this.hasWritten.add(component);
      if (this.#random() < this.#repeatShare) this.#router.appendLog(component, message);
    }
  }

  /** A message of each log finds the limit reached. */
  rotate(): void {
    for (const component of COMPONENTS) {
      if (this.hasWritten.has(component)) this.#router.rotate(component, `<${++this.#count}> rotated`);
    }
  }

  /** The router starts with its clock at the same moment as every time, which it only later sets right. */
  boot(nowMs: number, lines: number): void {
    this.#router.jumpClock(this.#bootMs - nowMs - this.#offsetMs);
    for (const component of COMPONENTS) {
      this.#router.appendLog(component, 'boot');
      this.hasWritten.add(component);
    }
    this.burst(lines);
    this.#router.jumpClock(nowMs - this.#bootMs);
    this.#offsetMs = 0;
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
  return router.truth(component).map(({ text, bytes, offset, loss, generation }) => ({
    ids: [...text.matchAll(/<(\d+)>/g)].map(([, id]) => Number(id)),
    text,
    bytes,
    offset,
    loss,
    generation,
  }));
}
