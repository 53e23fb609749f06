import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { AddressSet, LOOPBACK, type Network, toClientKey } from './client-address.ts';

/** Limits of the connections of all listening sockets together. */
export interface ConnectionBounds {
  /** Connections whose requests are answered. */
  readonly max: number;
  /** Of those, connections from one address. */
  readonly perAddressMax: number;
  /** Connections above the limits: they get `/-/healthy` or a refusal. */
  readonly beyondMax: number;
  /** Addresses without `perAddressMax`. */
  readonly exempt: readonly Network[];
}

/** Prometheus opens a connection for each target that it scrapes concurrently. */
const CONNECTIONS_MAX = 2000;
/** One address leaves slots for others. */
const PER_ADDRESS_RATIO = 0.5;
/** Enough for health checks and for refusals. */
const BEYOND_RATIO = 0.05;
const BEYOND_MIN = 2;
/** File descriptors of the process itself: state files, threads, standard streams. */
const OWN_DESCRIPTORS = 40;
/** The rest is for routers and sinks. */
const DESCRIPTOR_RATIO = 1 / 3;

/** Returns the limits for a process with so many file descriptors (`undefined`: not known), behind these proxies. */
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

/** The limit that a connection exceeds: of its address, or of all. */
export type Excess = 'address' | 'total';

/** An open connection. */
export interface Connection {
  /** Absent if its requests are answered. */
  readonly excess: Excess | undefined;
  /** Marks the connection as busy until the response has been sent. */
  begin(response: ServerResponse): void;
}

/**
 * The open connections of the server. A new one above a limit replaces the longest idle one: first those that never sent a request, among
 * them one of the client with the most; an idle client can connect again. If all are busy, the new one is refused.
 */
export class ConnectionTable {
  #bounds: ConnectionBounds;
  #exempt: AddressSet;
  readonly #all = new IdleList();
  readonly #byClient = new Map<string, IdleList>();
  /** Connections above the limits, oldest first. */
  readonly #beyond = new Set<Socket>();
  readonly #open = new Map<string, Connection>();

  constructor(bounds: ConnectionBounds) {
    this.#bounds = bounds;
    this.#exempt = new AddressSet(bounds.exempt);
  }

  /** Replaces the limits. Open connections stay. */
  setBounds(bounds: ConnectionBounds): void {
    this.#bounds = bounds;
    this.#exempt = new AddressSet(bounds.exempt);
  }

  /** Counts a new connection, which may close an idle one. */
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

  /** Finds the connection of a request (`socket`: the TLS socket, if any); `undefined` once it is closed. */
  find(socket: Socket): Connection | undefined {
    return this.#open.get(toKey(socket));
  }

  #findExcess(list: IdleList, address: string): Excess | undefined {
    const { max, perAddressMax } = this.#bounds;
    if (list.size >= perAddressMax && !this.#exempt.has(address) && !this.#end(list.oldest)) return 'address';
    const isFull = this.#all.size >= max;
    return isFull && !this.#end(this.#findLargestSilent()?.oldest ?? this.#all.oldest) ? 'total' : undefined;
  }

  /**
   * Finds the client with the most connections that never sent a request, if it has several: connections that come faster than requests
   * are read must replace each other, not a client whose request is about to be read.
   */
  #findLargestSilent(): IdleList | undefined {
    let largest: IdleList | undefined;
    for (const list of this.#byClient.values()) if (list.silent > (largest?.silent ?? 1)) largest = list;
    return largest;
  }

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
    // A client may pipeline requests.
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

/** Connections; idle ones in the order in which they became idle. */
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

  get silent(): number {
    return this.#silent.size;
  }

  /** The longest idle connection, first of those without a request. */
  get oldest(): Socket | undefined {
    const [oldest] = this.#silent.size > 0 ? this.#silent : this.#resting;
    return oldest;
  }
}

/** By both ends: a TLS socket has them from the socket below. */
function toKey({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}
