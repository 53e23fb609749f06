import type { Clock } from '../../base/index.ts';
import { isPlainObject, readString } from '../../base/index.ts';
import type { FoundLetter, LetterDetail, LetterPage } from '../api/delivery.ts';
import type { RecordPage } from '../api/logs.ts';
import type { ProcessSummary } from '../api/process.ts';
import type { ListedRouter } from '../api/routers.ts';
import type { ForeignRouter, LogRow, RecordQuery, WebContent } from '../content.ts';
import { parseList } from '../fleet-list.ts';
import { renderRecordQuery } from '../record-query.ts';
import { type PeerListener, PeerStreams } from './follow-peers.ts';
import { LIST_BYTES_MAX, PeerClient, type PeerFault } from './peer-client.ts';
import { decodeLetter, decodeLetters, decodeProcess } from './process-answers.ts';
import { findOwner, isMoving, isOwnedBy, nameProcess, toProcessKey } from './processes.ts';
import { decodeRecords, mergeRecords } from './records.ts';
import { decodeLogRow, describeForeign } from './router-answers.ts';

/** Why there are no lines of a router that no replica has. */
const MOVING = 'The router is moving to another replica; try again in some seconds';

/** The routers of all processes. */
export interface WholeFleet extends Pick<WebContent, 'listRouters' | 'findRouter' | 'describeAvailability'> {
  /** Processes that did not answer; their routers are listed with the state `unknown`. */
  readonly faults: readonly PeerFault[];
}

/** The part of one process of the fleet. */
export interface ProcessPart<T> {
  /** Index of the process. */
  readonly shard: number;
  /** Its name on pages, as in `process 1`; `undefined` if there is only one. */
  readonly name: string | undefined;
  /** Its name in addresses; `undefined` if there is only one. */
  readonly key: string | undefined;
  /** Its value. */
  readonly value: T;
}

/** The parts of all processes of the fleet in order, this one included. */
export interface WholeParts<T> {
  /** Parts of the processes that answered. */
  readonly parts: readonly ProcessPart<T>[];
  /** Those that did not answer. */
  readonly faults: readonly PeerFault[];
}

/**
 * Collects what the other processes have for pages and JSON. For lists each process is asked at most every five seconds, and
 * only while somebody looks. What it says about a router is taken only if that router is one of its own.
 */
export class PeerFleet {
  readonly #client: PeerClient;
  readonly #streams: PeerStreams;

  constructor(clock: Clock) {
    this.#client = new PeerClient(clock);
    this.#streams = new PeerStreams(clock);
  }

  /** Ends what is under way. */
  async close(): Promise<void> {
    await Promise.all([this.#client.close(), this.#streams.close()]);
  }

  /** Returns the routers of this process and of all others whose addresses are configured. */
  async collect(content: WebContent): Promise<WholeFleet> {
    const shards = content.describeShards();
    const { answers, faults } = await this.#client.ask(shards, {
      path: '/api/v1/routers?own=1',
      isKept: true,
      bytesMax: LIST_BYTES_MAX,
      decode: async (answer, shard) => {
        const seen = new Set<string>();
        const toRouter = (value: unknown) => {
          const name = isPlainObject(value) ? readString(value, 'name') : undefined;
          const other = shards?.others.get(name ?? '');
          if (other?.shard !== shard || seen.has(other.name)) return undefined;
          seen.add(other.name);
          return describeForeign(other, value);
        };
        const list = await parseList(answer, 'routers', toRouter);
        return list && new Map(list.map((router): [string, ListedRouter] => [router.name, router]));
      },
    });
    // Without addresses, the routers of the others are not known to be anywhere.
    const others = shards && shards.peers.length > 0 ? shards.others : new Map<string, ForeignRouter>();
    const describe = (router: ForeignRouter) => answers.get(router.shard)?.get(router.name) ?? describeForeign(router);
    return {
      faults,
      *listRouters() {
        yield* content.listRouters();
        // While a configuration is loaded again, a router may still be listed as that of another process.
        for (const router of others.values()) if (!content.hasRouter(router.name)) yield describe(router);
      },
      findRouter(name) {
        const other = others.get(name);
        return content.findRouter(name) ?? (other && describe(other));
      },
      describeAvailability(name) {
        const other = others.get(name);
        return other && !content.hasRouter(name) ? describe(other).availability : content.describeAvailability(name);
      },
    };
  }

  /** Returns what each process counts. */
  async describeProcesses(content: WebContent): Promise<WholeParts<ProcessSummary>> {
    return this.#collectParts(content, await describeProcess(content), '/api/v1/process', decodeProcess, true);
  }

  /** Returns the logs of all routers, in any order. */
  async listLogs(
    content: WebContent,
  ): Promise<{ readonly logs: Iterable<LogRow>; readonly faults: readonly PeerFault[] }> {
    const shards = content.describeShards();
    const { answers, faults } = await this.#client.ask(shards, {
      path: '/api/v1/logs?own=1',
      isKept: true,
      bytesMax: LIST_BYTES_MAX,
      decode: (answer, shard) =>
        parseList(answer, 'logs', (value) => {
          const row = decodeLogRow(value);
          return row && shards?.others.get(row.router)?.shard === shard ? row : undefined;
        }),
    });
    const logs = function* () {
      yield* content.listLogs();
      for (const rows of answers.values()) for (const row of rows) if (!content.hasRouter(row.router)) yield row;
    };
    return { logs: logs(), faults };
  }

  /** Returns the last lines of all processes that fit a query, the newest first. */
  async readRecords(
    content: WebContent,
    query: RecordQuery,
  ): Promise<{ readonly page: RecordPage; readonly faults: readonly PeerFault[] }> {
    const shards = content.describeShards();
    const owner = findOwner(content, shards, query.router);
    if (shards && owner !== undefined && !content.hasRouter(query.router ?? '') && isMoving(shards, owner)) {
      return { page: { records: [], next: null, searchedTo: null, fault: MOVING }, faults: [] };
    }
    const [own, { answers, faults }] = await Promise.all([
      content.readRecords(query),
      this.#client.ask(owner === shards?.index && owner !== undefined ? undefined : shards, {
        path: `/api/v1/records?own=1&${renderRecordQuery(query)}`,
        isKept: false,
        only: owner,
        decode: (answer, shard) => decodeRecords(JSON.parse(answer), query.before, isOwnedBy(shards, shard)),
      }),
    ]);
    const theirs = [...answers].map(([shard, page]): RecordPage => {
      return page.fault === null ? page : { ...page, fault: `${nameProcess(shards ?? {}, shard)}: ${page.fault}` };
    });
    return { page: theirs.length === 0 ? own : mergeRecords([own, ...theirs], query.limit), faults };
  }

  /** Follows the new lines of the other processes; returns the function that ends it. */
  followRecords(content: WebContent, query: RecordQuery, listener: PeerListener): () => void {
    return this.#streams.follow(content, query, listener);
  }

  /** Returns the dead letters of each process, or of the process with an index. */
  async listLetters(
    content: WebContent,
    selection: Parameters<WebContent['listLetters']>[0],
    only: number | undefined,
  ): Promise<WholeParts<LetterPage>> {
    const { sink, limit, before } = selection;
    const parameters = new URLSearchParams({ own: '1', limit: String(limit) });
    if (sink !== undefined) parameters.set('sink', sink);
    if (before !== undefined) parameters.set('before', String(before));
    const own = await content.listLetters(selection);
    return this.#collectParts(
      content,
      own,
      `/api/v1/dead-letters?${parameters.toString()}`,
      decodeLetters,
      false,
      only,
    );
  }

  /** Returns one dead letter of the process with an index; `undefined` when it has none of this number. */
  async findLetter(content: WebContent, id: number, shard: number): Promise<FoundLetter> {
    const shards = content.describeShards();
    if (!shards || shard === shards.index) return content.findLetter(id);
    const { answers, faults } = await this.#client.ask<LetterDetail | { readonly fault: string } | 'none'>(shards, {
      path: `/api/v1/dead-letters/${id}`,
      isKept: false,
      only: shard,
      missing: 'none',
      decode: (answer) => decodeLetter(JSON.parse(answer)),
    });
    const [fault] = faults;
    const letter = answers.get(shard);
    return fault ? { fault: `${nameProcess(shards, shard)}: ${fault.error}` } : letter === 'none' ? undefined : letter;
  }

  async #collectParts<T>(
    content: WebContent,
    own: T,
    path: string,
    decode: (answer: unknown) => T | undefined,
    isKept: boolean,
    only?: number,
  ): Promise<WholeParts<T>> {
    const shards = content.describeShards();
    if (!shards) return { parts: [{ shard: 0, name: undefined, key: undefined, value: own }], faults: [] };
    const isOwnAlone = only === shards.index;
    const { answers, faults } = await this.#client.ask(isOwnAlone ? undefined : shards, {
      path,
      decode: (answer) => decode(JSON.parse(answer)),
      isKept,
      only,
    });
    const all = new Map(answers);
    if (only === undefined || isOwnAlone) all.set(shards.index, own);
    const parts = [...all]
      .toSorted(([a], [b]) => a - b)
      .map(([shard, value]) => ({ shard, name: nameProcess(shards, shard), key: toProcessKey(shards, shard), value }));
    return { parts, faults };
  }
}

/** Describes this process. */
export async function describeProcess(content: WebContent): Promise<ProcessSummary> {
  return {
    minutes: await content.listFleetMinutes(),
    gaps: content.countGaps(),
    runs: content.describeRuns(),
    sinks: content.listSinks(),
    spool: content.describeSpool(),
  };
}
