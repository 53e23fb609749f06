import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { AddressSet, LOOPBACK, type Network, toClientKey } from './address.ts';

/** Bounds of the connections of all listening sockets together. */
export interface ConnectionBounds {
  /** Connections whose requests are answered. */
  readonly max: number;
  /** Those of them that may come from one address. */
  readonly perAddressMax: number;
  /** Connections beyond the bounds: they get the answer of `/-/healthy`, or a refusal. */
  readonly beyondMax: number;
  /** Addresses that `perAddressMax` does not apply to. */
  readonly exempt: readonly Network[];
}

/** Prometheus has a connection for each target that it scrapes at the same time. */
const CONNECTIONS_MAX = 2000;
/** So that one address leaves room for others. */
const PER_ADDRESS_RATIO = 0.5;
/** Enough for health checks and for the refusals of a crowd. */
const BEYOND_RATIO = 0.05;
const BEYOND_MIN = 2;
/** Descriptors of the process itself: files of the state, threads, standard streams. */
const OWN_DESCRIPTORS = 40;
/** The rest belongs to the routers and sinks. */
const DESCRIPTOR_RATIO = 1 / 3;

/** The bounds for a process with this many descriptors (`undefined`: not known), and these proxies in front of it. */
export function toBounds(descriptors: number | undefined, proxies: readonly Network[] = []): ConnectionBounds {
  const affordable = Math.floor(((descriptors ?? Number.POSITIVE_INFINITY) - OWN_DESCRIPTORS) * DESCRIPTOR_RATIO);
  const max = Math.max(BEYOND_MIN, Math.min(CONNECTIONS_MAX, affordable));
  return {
    max,
    perAddressMax: Math.ceil(max * PER_ADDRESS_RATIO),
    beyondMax: Math.max(BEYOND_MIN, Math.floor(max * BEYOND_RATIO)),
    exempt: [...LOOPBACK, ...proxies],
  };
}

/** Reason why a connection gets no content: too many from its address, or too many altogether. */
export type Excess = 'address' | 'total';

/** One open connection. */
export interface Connection {
  /** Absent when its requests are answered. */
  readonly excess: Excess | undefined;
  /** Marks it as busy until the response has been sent. */
  begin(response: ServerResponse): void;
}

/**
 * The open connections of the server, in the order in which they became idle. A new one beyond a bound takes the place of
 * the longest idle one, first of those that never sent a request, and of these one of the client that has the most: an idle
 * client connects again when it needs to. Only when all are busy is the new one refused.
 */
export class ConnectionTable {
  #bounds: ConnectionBounds;
  #exempt: AddressSet;
  readonly #all = new IdleList();
  readonly #byClient = new Map<string, IdleList>();
  /** Connections beyond the bounds, oldest first. */
  readonly #beyond = new Set<Socket>();
  readonly #open = new Map<string, Connection>();

  constructor(bounds: ConnectionBounds) {
    this.#bounds = bounds;
    this.#exempt = new AddressSet(bounds.exempt);
  }

  /** Replaces the bounds. Open connections stay. */
  setBounds(bounds: ConnectionBounds): void {
    this.#bounds = bounds;
    this.#exempt = new AddressSet(bounds.exempt);
  }

  /** Counts a new connection, which may end an idle one. */
  add(socket: Socket): void {
    const address = socket.remoteAddress;
    // Closed already.
    if (address === undefined) return;
    const key = toKey(socket);
    const client = toClientKey(address);
    const list = this.#byClient.get(client) ?? new IdleList();
    const excess = this.#findExcess(list, address);
    this.#open.set(key, excess ? this.#addBeyond(socket, excess) : this.#addWithin(socket, client, list));
    socket.once('close', () => this.#open.delete(key));
  }

  /** Finds the connection of a request; for TLS, `socket` is the one above it. `undefined` once it is closed. */
  find(socket: Socket): Connection | undefined {
    return this.#open.get(toKey(socket));
  }

  #findExcess(list: IdleList, address: string): Excess | undefined {
    const { max, perAddressMax } = this.#bounds;
    if (list.size >= perAddressMax && !this.#exempt.has(address) && !this.#end(list.oldest)) return 'address';
    const isFull = this.#all.size >= max;
    return isFull && !this.#end(this.#findCrowd()?.oldest ?? this.#all.oldest) ? 'total' : undefined;
  }

  /**
   * Finds the client with the most connections that never sent a request, if it has several: of a crowd that comes faster than
   * requests are read, a connection of its own goes, and not that of somebody whose request is about to be read.
   */
  #findCrowd(): IdleList | undefined {
    let crowd: IdleList | undefined;
    for (const list of this.#byClient.values()) if (list.silent > (crowd?.silent ?? 1)) crowd = list;
    return crowd;
  }

  /** Ends an idle connection; false when there is none. */
  #end(socket: Socket | undefined): boolean {
    if (!socket) return false;
    this.#all.delete(socket);
    this.#byClient.get(toClientKey(socket.remoteAddress ?? ''))?.delete(socket);
    socket.destroy();
    return true;
  }

  #addWithin(socket: Socket, client: string, list: IdleList): Connection {
    const lists = [this.#all, list];
    this.#byClient.set(client, list);
    for (const one of lists) one.add(socket);
    socket.once('close', () => {
      for (const one of lists) one.delete(socket);
      if (list.size === 0 && this.#byClient.get(client) === list) this.#byClient.delete(client);
    });
    // A client may send the next request before it has the answer to the last one.
    let requests = 0;
    return {
      excess: undefined,
      begin(response) {
        requests++;
        for (const one of lists) one.setBusy(socket);
        response.once('close', () => {
          requests--;
          if (requests === 0) for (const one of lists) one.setIdle(socket);
        });
      },
    };
  }

  #addBeyond(socket: Socket, excess: Excess): Connection {
    const [oldest] = this.#beyond;
    if (oldest && this.#beyond.size >= this.#bounds.beyondMax) oldest.destroy();
    this.#beyond.add(socket);
    socket.once('close', () => this.#beyond.delete(socket));
    return { excess, begin() {} };
  }
}

/** Connections, with those that are idle in the order in which they became so. */
class IdleList {
  readonly #all = new Set<Socket>();
  /** Without a request so far. */
  readonly #silent = new Set<Socket>();
  /** Between two requests. */
  readonly #resting = new Set<Socket>();

  get size(): number {
    return this.#all.size;
  }

  add(socket: Socket): void {
    this.#all.add(socket);
    this.#silent.add(socket);
  }

  delete(socket: Socket): void {
    for (const set of [this.#all, this.#silent, this.#resting]) set.delete(socket);
  }

  setBusy(socket: Socket): void {
    this.#silent.delete(socket);
    this.#resting.delete(socket);
  }

  setIdle(socket: Socket): void {
    if (this.#all.has(socket)) this.#resting.add(socket);
  }

  /** Number of connections without a request so far. */
  get silent(): number {
    return this.#silent.size;
  }

  /** The longest idle connection, first of those without a request. */
  get oldest(): Socket | undefined {
    const [oldest] = this.#silent.size > 0 ? this.#silent : this.#resting;
    return oldest;
  }
}

/** A connection by both its ends: the socket above TLS has them from the one below. */
function toKey({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}
