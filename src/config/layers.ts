import { Steps } from '../base/index.ts';
import { routerAccountShape } from '../router/index.ts';
import {
  type Filled,
  findNearest,
  findSecretForm,
  isWritten,
  type KeyPath,
  NamedFileReader,
  type Place,
  refuseBoth,
  refuseSecretForms,
} from '../settings/index.ts';
import {
  type CredentialSets,
  type GroupSets,
  type Layer,
  layerSchema,
  type TlsSets,
  tlsSetSchema,
} from './router-schema.ts';

/** The valid keys of `defaults`, of a group, or of one router, and their position. */
export interface PlacedLayer extends Place {
  readonly layer: Layer;
}

/** The keys of a layer with secrets and the content of files. */
export type FilledLayer = Filled<Layer>;

/** A layer or named set with the content of its files. */
export interface ReadLayer extends Place {
  readonly layer: FilledLayer;
  /** Keys of the layers below that this named set replaces as a whole. Absent: it is a layer. */
  readonly replaces?: 'credentials' | 'tls_set' | undefined;
}

type UnreadLayer = PlacedLayer & Pick<ReadLayer, 'replaces'>;

/** Several layers merged into one. */
export interface LayerStack {
  readonly merged: FilledLayer;
  /** The layers, and the named sets that they refer to; the nearest to the router first. */
  readonly layers: readonly ReadLayer[];
}

/** The written parts that routers inherit from. */
export interface LayerSources {
  readonly defaults?: Layer | undefined;
  readonly groups?: GroupSets | undefined;
  readonly credentials?: CredentialSets | undefined;
  readonly tls_sets?: TlsSets | undefined;
}

const EMPTY: LayerStack = { merged: {}, layers: [] };
const ACCOUNT_KEYS = Object.keys(routerAccountShape) as (keyof typeof routerAccountShape)[];

/** `defaults`, groups and named sets of the main file, onto which the keys of routers are laid. */
export class Inheritance {
  readonly #defaults: LayerStack;
  readonly #groups: NamedLayers;
  readonly #credentials: NamedLayers;
  readonly #tlsSets: NamedLayers;
  /** Routers of the same groups share what they inherit. */
  readonly #stacks = new Map<string, LayerStack>();

  private constructor(defaults: ReadLayer, [groups, credentials, tlsSets]: readonly (readonly ReadLayer[])[]) {
    this.#groups = new NamedLayers('group', groups);
    this.#credentials = new NamedLayers('set of credentials', credentials);
    this.#tlsSets = new NamedLayers('TLS set', tlsSets);
    this.#defaults = this.#lay(EMPTY, defaults);
    // Perhaps no router is in them.
    for (const group of groups ?? []) this.#lay(this.#defaults, group);
  }

  /** Reads every file that layers and routers refer to, each once. A fault is at its key. */
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
    const steps = new Steps();
    for (const layer of [...inherited, ...routers]) {
      refuseSecretForms(layer, 'password');
      refuseSecretForms(layer, 'bearer_token');
      checkHeaders(layer);
      checkProxy(layer);
      refuseIdleEnd(layer);
      if (layer.layer.credentials !== undefined) {
        for (const key of ACCOUNT_KEYS) refuseBoth(layer, 'credentials', key);
      }
      if (steps.isDue) await steps.next();
    }
    const read = await readNamedFiles([...inherited, ...routers]);
    const [first, ...others] = read.slice(0, inherited.length);
    const lists = named.map((list) => others.splice(0, list.length));
    const inheritance = new Inheritance(first ?? { file: main, path: ['defaults'], layer: {} }, lists);
    return { inheritance, routers: read.slice(inherited.length) };
  }

  /** The layers whose lists of modules must be valid even if no router inherits them. */
  get inherited(): readonly ReadLayer[] {
    return [...this.#defaults.layers, ...this.#groups.layers];
  }

  /** The sets of credentials, which must be whole even if no layer refers to them. */
  get credentials(): readonly ReadLayer[] {
    return this.#credentials.layers;
  }

  /** Merges a router over its groups, the last one first, and `defaults`. An unknown name is a fault. */
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
      // Absent, because an undefined key would replace its default.
      const merged: FilledLayer = { ...stack.merged };
      for (const key of ACCOUNT_KEYS) Reflect.deleteProperty(merged, key);
      stack = put({ ...stack, merged }, account);
    }
    const tls = tlsSet === undefined ? undefined : this.#tlsSets.find(tlsSet, layer, ['tls_set']);
    if (tls) stack = put({ ...stack, merged: { ...stack.merged, tls: {} } }, tls);
    return put(stack, layer);
  }
}

/** Rejects the end of a state without the state. */
function refuseIdleEnd({ file, path, layer }: PlacedLayer): void {
  if (layer.state_until === undefined || layer.state !== undefined || file.faults.covers([...path, 'state'])) return;
  file.faults.add([...path, 'state_until'], '"state_until" needs "state" beside it', { aim: 'key' });
}

/** Rejects headers outside the main file, and a header that stands twice. */
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

/** Rejects half an account on a proxy, and what the proxy has no use for. */
function checkProxy({ file, path, layer }: PlacedLayer): void {
  const { proxy } = layer;
  if (proxy === undefined || proxy === 'none') return;
  const place = { file, path: [...path, 'proxy'] };
  refuseSecretForms(place, 'password');
  const password = findSecretForm(place, 'password');
  const hasName = isWritten(place, 'username');
  const refuse = (key: string, message: string) => file.faults.add([...place.path, key], message, { aim: 'key' });
  if (password === undefined && hasName) refuse('username', '"username" needs "password" or "password_file" beside it');
  if (password !== undefined && !hasName) refuse(password, `"${password}" needs "username" beside it`);
  if (isWritten(place, 'ca_file') && proxy.url?.startsWith('https:') === false) {
    refuse('ca_file', '"ca_file" has no effect here, because "url" does not begin with https://');
  }
}

/** Layers that others refer to by name: the last step of their path. */
class NamedLayers {
  readonly layers: readonly ReadLayer[];
  readonly #kind: string;
  readonly #byName: ReadonlyMap<unknown, ReadLayer>;

  constructor(kind: string, layers: readonly ReadLayer[] = []) {
    this.layers = layers;
    this.#kind = kind;
    this.#byName = new Map(layers.map((layer) => [layer.path.at(-1), layer]));
  }

  /** Finds the layer of this name; an unknown name is a fault at `keys` of the layer `from`. */
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

/** Names of a list in a message; there may be a thousand. */
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
      // The end of a state belongs to it.
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

/** Returns the path of a key of a router in a layer: in a TLS set, the keys of `tls` stand at the top. */
export function toLayerPath({ path, replaces }: Pick<ReadLayer, 'path' | 'replaces'>, keys: KeyPath): KeyPath {
  return replaces === 'tls_set' ? [...path, ...keys.slice(1)] : [...path, ...keys];
}

/** Enough to hide the latency of a network share, far below the limit of open files. */
const FILE_READS_MAX = 16;

/** Reads every file that the layers refer to, each once, a few at a time. An unreadable file is a fault at its key. */
async function readNamedFiles(layers: readonly UnreadLayer[]): Promise<ReadLayer[]> {
  const reader = new NamedFileReader();
  const read: ReadLayer[] = [];
  const queue = layers.entries();
  const steps = new Steps();
  const work = async () => {
    for (const [index, placed] of queue) {
      const { layer, replaces } = placed;
      read[index] = {
        ...placed,
        layer:
          replaces === 'tls_set'
            ? { tls: await reader.readSection(placed, tlsSetSchema, layer.tls ?? {}) }
            : await reader.readSection(placed, layerSchema, layer),
      };
      if (steps.isDue) await steps.next();
    }
  };
  await Promise.all(Array.from({ length: FILE_READS_MAX }, work));
  return read;
}
