import { forEachYielding, packLines } from '../base/index.ts';
import {
  type FactsCommit,
  type LogCommit,
  type RouterAddition,
  type RouterState,
  StoreError,
  toValueTooLong,
  VALUE_CHARS_MAX,
} from '../model/index.ts';
import { type CommitQueue, type FencedWrite, toFenced } from './commit-queue.ts';
import { type ClusterLink, KEYS_MAX } from './link.ts';
import { readPayloadMax, toRecordMessages } from './record-feed.ts';
import type { Subjects } from './subjects.ts';

interface OpenRoutersOptions {
  readonly link: ClusterLink;
  readonly subjects: Subjects;
  readonly queue: CommitQueue;
  /** Throws if there is no room for `bytes` of records. */
  readonly checkRoom: (bytes: number) => void;
}

interface OpenRouter {
  readonly positions: Map<string, string>;
  readonly values: Map<string, string>;
  facts: string | undefined;
  readonly subjects: Set<string>;
  /** True when it must be read again before it is used. */
  isStale: boolean;
}

/** The routers that this replica has open: their state in the stream is loaded once and kept, so that reads do not wait. */
export class OpenRouters {
  readonly #options: OpenRoutersOptions;
  readonly #routers = new Map<string, OpenRouter>();

  constructor(options: OpenRoutersOptions) {
    this.#options = options;
  }

  async open(router: string): Promise<void> {
    const { queue } = this.#options;
    const known = this.#routers.get(router);
    if (known && !known.isStale) return;
    if (known) {
      // Pending steps of another log would be stored after the positions are read here.
      await queue.settle({ kind: 'router', name: router });
      this.#forget(router, known);
    }
    this.#routers.set(router, await this.#read(router));
  }

  async #read(router: string): Promise<OpenRouter> {
    const { link, subjects } = this.#options;
    const { stream } = subjects;
    const lists = subjects
      .stateOf(router)
      .map(async (filter) => (filter.endsWith('*') ? await link.listSubjects(stream, filter, KEYS_MAX) : [filter]));
    const names = (await Promise.all(lists)).flat();
    const found = await Promise.all(names.map((subject) => link.readLast(stream, subject)));
    const read: OpenRouter = {
      positions: new Map(),
      values: new Map(),
      facts: undefined,
      subjects: new Set(),
      isStale: false,
    };
    for (const message of found) {
      if (!message) continue;
      // Forgotten positions remain as empty messages, which fence as others do.
      this.#recordSequence(read, message.subject, message.seq);
      const topic = subjects.parse(message.subject);
      const text = message.payload.toString();
      if (!topic || text === '') continue;
      if (topic.kind === 'pos') read.positions.set(topic.component, text);
      else if (topic.kind === 'val') read.values.set(topic.key, text);
      else if (topic.kind === 'fact') read.facts = text;
    }
    return read;
  }

  /** Resolves when no step of a router is pending, and forgets it. */
  async close(router: string): Promise<void> {
    await this.#options.queue.settle({ kind: 'router', name: router });
    const known = this.#routers.get(router);
    if (known) this.#forget(router, known);
  }

  markStale(name: string): void {
    const router = this.#routers.get(name);
    if (!router) return;
    router.isStale = true;
    for (const subject of router.subjects) this.#options.queue.forget(subject);
  }

  #forget(router: string, { subjects }: OpenRouter): void {
    for (const subject of subjects) this.#options.queue.forget(subject);
    this.#routers.delete(router);
  }

  #recordSequence(router: OpenRouter, subject: string, seq: number): void {
    router.subjects.add(subject);
    this.#options.queue.recordSequence(subject, seq);
  }

  #of(router: string): OpenRouter {
    const known = this.#routers.get(router);
    if (!known || known.isStale) throw toFenced({ kind: 'router', name: router });
    return known;
  }

  readPositions(router: string): Map<string, string> {
    return new Map(this.#of(router).positions);
  }

  readState(router: string): RouterState {
    return this.#of(router);
  }

  readFacts(router: string): string | undefined {
    return this.#of(router).facts;
  }

  readValue(router: string, key: string): string | undefined {
    return this.#of(router).values.get(key);
  }

  async writeValue(router: string, key: string, text: string): Promise<void> {
    if (text.length > VALUE_CHARS_MAX) throw toValueTooLong(text);
    const { link, subjects, queue } = this.#options;
    const subject = subjects.of({ kind: 'val', router, key });
    const known = this.#routers.get(router);
    if (!known) throw toFenced({ kind: 'router', name: router });
    if (known.isStale) {
      // If its logs are not read, the router is not opened again. The positions stay unknown: only a run that reads them
      // needs them.
      const stored = await link.readLast(subjects.stream, subject);
      this.#recordSequence(known, subject, stored?.seq ?? 0);
    }
    const write = this.#fence(known, subject, text);
    await queue.commit({ owned: { kind: 'router', name: router }, added: [], fenced: [write] });
    known.values.set(key, text);
  }

  async forgetLogs(router: string, components: readonly string[]): Promise<void> {
    const known = this.#of(router);
    const gone = components.filter((component) => known.positions.has(component));
    if (gone.length === 0) return;
    await this.add({ router, positions: new Map(gone.map((component) => [component, ''])) });
    for (const component of gone) known.positions.delete(component);
  }

  async commit(...commits: (LogCommit | FactsCommit)[]): Promise<void> {
    const [first] = commits;
    if (!first) return;
    const logs = commits.filter((commit) => 'position' in commit);
    const committedMs = this.#options.link.clock.now();
    await this.add({
      router: first.router,
      batches: logs
        .filter(({ lines }) => lines.length > 0)
        .map(({ component, lines }) => ({ component, committedMs, records: lines.length, body: packLines(lines) })),
      positions: new Map(logs.map(({ component, position }) => [component, position])),
      facts: commits.findLast((commit) => 'facts' in commit)?.facts,
    });
  }

  async add({ router, batches = [], positions = new Map(), facts, values = new Map() }: RouterAddition): Promise<void> {
    const { link, subjects, queue, checkRoom } = this.#options;
    const known = this.#of(router);
    const added = batches.flatMap(({ component, ...packed }) =>
      toRecordMessages(subjects.of({ kind: 'rec', router, component }), packed, readPayloadMax(link)),
    );
    const fenced = [
      ...Array.from(positions, ([component, text]) =>
        this.#fence(known, subjects.of({ kind: 'pos', router, component }), text),
      ),
      ...(facts === undefined ? [] : [this.#fence(known, subjects.of({ kind: 'fact', router }), facts)]),
      ...Array.from(values, ([key, text]) => this.#fence(known, subjects.of({ kind: 'val', router, key }), text)),
    ];
    for (const { payload } of [...added, ...fenced]) checkPayload(router, payload, readPayloadMax(link));
    if (added.length > 0) checkRoom(added.reduce((sum, { payload }) => sum + payload.length, 0));
    await queue.commit({ owned: { kind: 'router', name: router }, added, fenced });
    for (const [component, text] of positions) known.positions.set(component, text);
    for (const [key, text] of values) known.values.set(key, text);
    known.facts = facts ?? known.facts;
  }

  /** Removes the stored state of a router, and its records up to `lastSeq`; then closes it. */
  async remove(router: string, lastSeq: number): Promise<void> {
    const { link, subjects } = this.#options;
    const { positions, facts, values } = this.#of(router);
    const emptied = (of: ReadonlyMap<string, string>) => new Map(Array.from(of.keys(), (key) => [key, '']));
    // Empty messages instead of a purge, so that a replica with an older state of the router is fenced.
    await this.add({
      router,
      positions: emptied(positions),
      values: emptied(values),
      facts: facts === undefined ? undefined : '',
    });
    await this.close(router);
    if (lastSeq > 0) {
      await link.ask(`STREAM.PURGE.${subjects.stream}`, { filter: subjects.recordsOf(router), seq: lastSeq + 1 });
    }
  }

  /** Returns a fenced write to a subject; one that was not read when the router was opened must be empty. */
  #fence(router: OpenRouter, subject: string, text: string): FencedWrite {
    if (!router.subjects.has(subject)) this.#recordSequence(router, subject, 0);
    return { subject, payload: Buffer.from(text) };
  }
}

/** Throws if a message is too large for the server: the other steps of its batch would be rejected with it. */
function checkPayload(router: string, { length }: Uint8Array, bytesMax: number): void {
  if (length <= bytesMax) return;
  throw new StoreError(
    'too-long',
    `A step of a log of ${router} has ${length} bytes, and the engine takes ${bytesMax}`,
    {
      disposition: 'skip',
      hint: 'Raise max_payload of the engine',
    },
  );
}

export async function listStoredRouters(
  link: Pick<ClusterLink, 'listSubjects'>,
  subjects: Subjects,
  filters: readonly string[],
): Promise<Set<string>> {
  const routers = new Set<string>();
  for (const filter of filters) {
    await forEachYielding(await link.listSubjects(subjects.stream, filter), (subject) => {
      const topic = subjects.parse(subject);
      if (topic && topic.kind !== 'cur') routers.add(topic.router);
    });
  }
  return routers;
}
