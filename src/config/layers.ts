import { forEachYielding } from '../base/index.ts';
import { routerAccountShape } from '../client/index.ts';
import { checkProxy } from '../net/index.ts';
import {
  type Filled,
  findNearest,
  isWritten,
  type KeyPath,
  NamedFileReader,
  type Place,
  refuseBoth,
  refuseSecretForms,
} from '../settings/index.ts';
import { type LayerOrigin, readOrigin } from './origins.ts';
import { type Layer, type ListedRouter, layerSchema, tlsSetSchema } from './router-schema.ts';
import type { Settings } from './schema.ts';

interface PlacedLayer extends Place {
  readonly layer: Layer;
}

export interface PlacedRouter extends PlacedLayer {
  readonly name: string | undefined;
  readonly layer: ListedRouter;
}

export type FilledLayer = Filled<Layer>;

export interface ReadLayer extends Place {
  readonly layer: FilledLayer;
  /** The named set replaces these keys of the layers below as a whole. Absent: a layer. */
  readonly replaces?: 'credentials' | 'tls_set' | undefined;
  readonly origin: LayerOrigin;
}

type UnreadLayer = PlacedLayer & Pick<ReadLayer, 'replaces'>;

export interface LayerStack {
  readonly merged: FilledLayer;
  /** Layers and the named sets that they use, nearest to the router first. */
  readonly layers: readonly ReadLayer[];
}

type LayerSources = Pick<Settings, 'defaults' | 'groups' | 'credentials' | 'tls_sets'>;

const EMPTY: LayerStack = { merged: {}, layers: [] };
const ACCOUNT_KEYS = Object.keys(routerAccountShape) as (keyof typeof routerAccountShape)[];

export class Inheritance {
  readonly #defaults: LayerStack;
  readonly #groups: NamedLayers;
  readonly #credentials: NamedLayers;
  readonly #tlsSets: NamedLayers;
  readonly #stacks = new Map<string, LayerStack>();

  private constructor(
    defaults: ReadLayer | undefined,
    [groups, credentials, tlsSets]: readonly (readonly ReadLayer[])[],
  ) {
    this.#groups = new NamedLayers('group', groups);
    this.#credentials = new NamedLayers('set of credentials', credentials);
    this.#tlsSets = new NamedLayers('TLS set', tlsSets);
    this.#defaults = defaults ? this.#lay(EMPTY, defaults) : EMPTY;
    for (const group of groups ?? []) this.#lay(this.#defaults, group);
  }

  static async read(
    main: Place['file'],
    { defaults = {}, groups = {}, credentials = {}, tls_sets: tlsSets = {} }: LayerSources,
    routers: readonly PlacedLayer[],
  ): Promise<{ inheritance: Inheritance; routers: readonly ReadLayer[] }> {
    const named: UnreadLayer[][] = [
      Object.entries(groups).map(([key, layer]) => ({ file: main, path: ['groups', key], layer })),
      Object.entries(credentials).map(([key, layer]) => {
        return { file: main, path: ['credentials', key], layer, replaces: 'credentials' };
      }),
      Object.entries(tlsSets).map(([key, tls]) => {
        return { file: main, path: ['tls_sets', key], layer: { tls }, replaces: 'tls_set' };
      }),
    ];
    const inherited: UnreadLayer[] = [{ file: main, path: ['defaults'], layer: defaults }, ...named.flat()];
    await forEachYielding([...inherited, ...routers], (layer) => {
      refuseSecretForms(layer, 'password');
      refuseSecretForms(layer, 'bearer_token');
      refuseSecretForms(layer, 'notify_token');
      checkHeaders(layer);
      if (layer.layer.proxy) checkProxy(layer, layer.layer.proxy);
      refuseEndWithoutState(layer);
      if (layer.layer.credentials !== undefined) {
        for (const key of ACCOUNT_KEYS) refuseBoth(layer, 'credentials', key);
      }
    });
    const read = await readNamedFiles([...inherited, ...routers]);
    const [first, ...others] = read.slice(0, inherited.length);
    const lists = named.map((list) => others.splice(0, list.length));
    const inheritance = new Inheritance(first, lists);
    return { inheritance, routers: read.slice(inherited.length) };
  }

  /** Checked even if no router inherits them. */
  get inherited(): readonly ReadLayer[] {
    return [...this.#defaults.layers, ...this.#groups.layers];
  }

  get credentials(): readonly ReadLayer[] {
    return this.#credentials.layers;
  }

  merge(router: ReadLayer, groups: readonly string[]): LayerStack {
    const found = groups.flatMap((group, index) => this.#groups.find(group, router, ['groups', index]) ?? []);
    const key = found.map(({ path }) => path[1]).join(' ');
    const inherited = this.#stacks.get(key) ?? found.reduce((below, group) => this.#lay(below, group), this.#defaults);
    this.#stacks.set(key, inherited);
    return this.#lay(inherited, router);
  }

  #lay(below: LayerStack, layer: ReadLayer): LayerStack {
    const { credentials, tls_set: tlsSet } = layer.layer;
    let stack = below;
    const account = credentials === undefined ? undefined : this.#credentials.find(credentials, layer, ['credentials']);
    if (account) {
      // Omitted, because an undefined key would replace its default.
      const merged: FilledLayer = { ...stack.merged };
      for (const key of ACCOUNT_KEYS) Reflect.deleteProperty(merged, key);
      stack = put({ ...stack, merged }, account);
    }
    const tls = tlsSet === undefined ? undefined : this.#tlsSets.find(tlsSet, layer, ['tls_set']);
    if (tls) stack = put({ ...stack, merged: { ...stack.merged, tls: {} } }, tls);
    return put(stack, layer);
  }
}

function refuseEndWithoutState({ file, path, layer }: PlacedLayer): void {
  if (layer.state_until === undefined || layer.state !== undefined || file.faults.covers([...path, 'state'])) return;
  file.faults.add([...path, 'state_until'], '"state_until" requires "state"', { aim: 'key' });
}

function checkHeaders(layer: PlacedLayer): void {
  const { file, path } = layer;
  const first = new Map<string, string>();
  for (const key of ['headers', 'header_files'] as const) {
    if (!isWritten(layer, key)) continue;
    if (!file.isMain) {
      const message = `"${key}" is legal in the main file only; write a group there, and name it in "groups" of this router`;
      file.faults.add([...path, key], message, { aim: 'key' });
    }
    for (const name of Object.keys(layer.layer[key] ?? {})) {
      const earlier = first.get(name.toLowerCase());
      const message = `The header "${name}" is already set by "${earlier}"`;
      if (earlier !== undefined) file.faults.add([...path, key, name], message, { aim: 'key' });
      else first.set(name.toLowerCase(), `${key}.${name}`);
    }
  }
}

class NamedLayers {
  readonly layers: readonly ReadLayer[];
  readonly #kind: string;
  readonly #byName: ReadonlyMap<unknown, ReadLayer>;

  constructor(kind: string, layers: readonly ReadLayer[] = []) {
    this.layers = layers;
    this.#kind = kind;
    this.#byName = new Map(layers.map((layer) => [layer.path.at(-1), layer]));
  }

  find(name: string, from: Place, keys: KeyPath): ReadLayer | undefined {
    const found = this.#byName.get(name);
    if (found) return found;
    const names = [...this.#byName.keys()].map(String);
    const nearest = findNearest(name, names);
    const message = `There is no ${this.#kind} "${name}"`;
    const known = names.length === 0 ? '; there is none at all' : `; there are: ${renderNames(names)}`;
    from.file.faults.add([...from.path, ...keys], nearest === undefined ? message + known : message, { nearest });
    return undefined;
  }
}

const NAMES_SHOWN_MAX = 20;

function renderNames(names: readonly string[]): string {
  const more = names.length - NAMES_SHOWN_MAX;
  return names.slice(0, NAMES_SHOWN_MAX).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

function put({ merged, layers }: LayerStack, upper: ReadLayer): LayerStack {
  const { layer } = upper;
  return {
    merged: {
      ...merged,
      ...layer,
      // An end belongs to the state of the same layer.
      state_until: layer.state === undefined ? merged.state_until : layer.state_until,
      tls: { ...merged.tls, ...layer.tls },
      labels: { ...merged.labels, ...layer.labels },
      poll: { ...merged.poll, ...layer.poll },
      logs: { ...merged.logs, ...layer.logs },
      metrics: { ...merged.metrics, ...layer.metrics },
    },
    layers: [upper, ...layers],
  };
}

export function toLayerPath({ path, replaces }: Pick<ReadLayer, 'path' | 'replaces'>, keys: KeyPath): KeyPath {
  return replaces === 'tls_set' ? [...path, ...keys.slice(1)] : [...path, ...keys];
}

/** Concurrent reads: enough to hide the latency of a network share, far below the limit of open files. */
const FILE_READS_MAX = 16;

async function readNamedFiles(layers: readonly UnreadLayer[]): Promise<ReadLayer[]> {
  const reader = new NamedFileReader();
  const read: ReadLayer[] = [];
  const queue = layers.entries();
  const readNext = async ([index, placed]: readonly [number, UnreadLayer]) => {
    const { layer, replaces } = placed;
    read[index] =
      replaces === 'tls_set'
        ? {
            ...placed,
            layer: { tls: await reader.readSection(placed, tlsSetSchema, layer.tls ?? {}) },
            origin: { ...readOrigin(placed, 'tls'), replaces: ['tls'] },
          }
        : {
            ...placed,
            layer: await reader.readSection(placed, layerSchema, layer),
            origin: { ...readOrigin(placed), ...(replaces && { replaces: ACCOUNT_KEYS }) },
          };
  };
  await Promise.all(Array.from({ length: FILE_READS_MAX }, () => forEachYielding(queue, readNext)));
  return read;
}
