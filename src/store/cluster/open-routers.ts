import { packLines } from '../../base/index.ts';
import type { FactsCommit, LogCommit, RouterAddition, RouterState } from '../contracts.ts';
import { StoreError } from '../errors.ts';
import { checkValue } from '../router-tables.ts';
import { type CommitQueue, type FencedWrite, toFenced } from './commit-queue.ts';
import type { ClusterLink } from './link.ts';
import { readPayloadMax, toRecordMessages } from './record-messages.ts';
import { readRouterState } from './router-state.ts';
import type { Subjects } from './subjects.ts';

/** Dependencies for reading routers and writing their steps. */
export interface OpenRoutersOptions {
  /** Connection to the engine. */
  readonly link: ClusterLink;
  /** Subjects of the cluster. */
  readonly subjects: Subjects;
  /** The queue that makes steps durable. */
  readonly queue: CommitQueue;
  /** Throws if there is no room for so many bytes of records. */
  readonly checkRoom: (bytes: number) => void;
}

/** State of a router that is open here. */
interface OpenRouter {
  readonly positions: Map<string, string>;
  readonly values: Map<string, string>;
  facts: string | undefined;
  /** Subjects that can be written to. */
  readonly subjects: Set<string>;
  /** True when it has to be read again before it is used. */
  isStale: boolean;
}

/** The routers that this replica has open: what the stream holds of them is loaded once and kept, so that reads do not wait. */
export class OpenRouters {
  readonly #options: OpenRoutersOptions;
  readonly #routers = new Map<string, OpenRouter>();

  constructor(options: OpenRoutersOptions) {
    this.#options = options;
  }

  /** Reads a router, unless it is open and nothing has happened to it. */
  async open(router: string): Promise<void> {
    const { link, subjects, queue } = this.#options;
    const known = this.#routers.get(router);
    if (known && !known.isStale) return;
    if (known) {
      // What is still under way of another log would be stored behind the positions that are read here.
      await queue.settle({ kind: 'router', name: router });
      this.#forget(router, known);
    }
    const { positions, values, facts, messages } = await readRouterState(link, subjects, router);
    const opened: OpenRouter = { positions, values, facts, subjects: new Set(), isStale: false };
    for (const { subject, seq } of messages) this.#note(opened, subject, seq);
    this.#routers.set(router, opened);
  }

  /** Resolves when nothing of a router is under way, and forgets it. */
  async close(router: string): Promise<void> {
    await this.#options.queue.settle({ kind: 'router', name: router });
    const known = this.#routers.get(router);
    if (known) this.#forget(router, known);
  }

  /** It is not known any more how a router is stored: it is read again before it is used. */
  noteStale(name: string): void {
    const router = this.#routers.get(name);
    if (!router) return;
    router.isStale = true;
    for (const subject of router.subjects) this.#options.queue.forget(subject);
  }

  #forget(router: string, { subjects }: OpenRouter): void {
    for (const subject of subjects) this.#options.queue.forget(subject);
    this.#routers.delete(router);
  }

  #note(router: OpenRouter, subject: string, seq: number): void {
    router.subjects.add(subject);
    this.#options.queue.note(subject, seq);
  }

  #of(router: string): OpenRouter {
    const known = this.#routers.get(router);
    if (!known || known.isStale) throw toFenced({ kind: 'router', name: router });
    return known;
  }

  readPositions(router: string): Map<string, string> {
    return new Map(this.#of(router).positions);
  }

  /** Returns what is stored of a router. */
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
    checkValue(text);
    const { link, subjects, queue } = this.#options;
    const subject = subjects.of({ kind: 'val', router, key });
    const known = this.#routers.get(router);
    if (!known) throw toFenced({ kind: 'router', name: router });
    if (known.isStale) {
      // Nobody may read its logs, so that nobody opens it again. Its positions stay forgotten: they are for a run that reads them.
      const stored = await link.readLast(subjects.stream, subject);
      this.#note(known, subject, stored?.seq ?? 0);
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

  /** Adds records, and sets state, in one step. */
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

  /** Removes what is stored of a router, and its records up to a message; then the router is not open any more. */
  async remove(router: string, lastSeq: number): Promise<void> {
    const { link, subjects } = this.#options;
    const { positions, facts, values } = this.#of(router);
    const emptied = (of: ReadonlyMap<string, string>) => new Map(Array.from(of.keys(), (key) => [key, '']));
    // Empty messages, and not nothing: a replica that knows the router from before is refused.
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

  /** Returns a write to a subject, which is empty if it was not met when the router was opened. */
  #fence(router: OpenRouter, subject: string, text: string): FencedWrite {
    if (!router.subjects.has(subject)) this.#note(router, subject, 0);
    return { subject, payload: Buffer.from(text) };
  }
}

/** Throws if the server would not take a message: others would then wait in vain with it, and be refused. */
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
