import { stat } from 'node:fs/promises';
import { forEachYielding } from '../base/index.ts';
import type { SourceOutcome } from '../inventory/index.ts';
import {
  type ConfigFile,
  describeExcessRights,
  findNearest,
  type KeyPath,
  type Place,
  renderPlace,
} from '../settings/index.ts';
import { findFolderFault } from '../store/index.ts';
import type { Settings } from './schema.ts';
import type { Shard } from './shards.ts';

const PERMISSIONS = 0o7777;
const NAMES = {
  groups: 'groups',
  allowed_groups: 'groups',
  allowed_credentials: 'credentials',
  allowed_tls_sets: 'tls_sets',
} as const;

export function checkSources(main: ConfigFile, settings: Settings): void {
  for (const [index, source] of (settings.router_sources ?? []).entries()) {
    for (const [key, section] of Object.entries(NAMES)) {
      const known = Object.keys(settings[section] ?? {});
      const names: unknown = Reflect.get(source, key);
      for (const [item, name] of (Array.isArray(names) ? names : []).entries()) {
        if (known.includes(String(name))) continue;
        const nearest = findNearest(String(name), known);
        main.faults.add(['router_sources', index, key, item], `There is no "${String(name)}" in "${section}"`, {
          nearest,
        });
      }
    }
  }
}

export function checkCluster(main: ConfigFile, { backup }: Settings, shard: Shard | undefined): void {
  const isWritten = (...path: readonly string[]) => main.source.valueAt(path) !== undefined;
  if (isWritten('web', 'peers')) {
    const message = '"peers" has no effect in a cluster, whose members know each other; remove it, or "cluster"';
    main.faults.add(['web', 'peers'], message, { aim: 'key' });
  }
  if (shard?.total !== undefined || (shard?.index ?? 0) > 0) {
    const message = 'A cluster shares the routers by itself; start it without --shard and --total-shards';
    main.faults.add(['cluster'], message, { aim: 'key' });
  }
  if (isWritten('backup', 'schedule') && backup?.shared !== true) {
    const message =
      'All replicas of a cluster back up to the same folder; set a path on storage that all of them share, with "shared: true"';
    main.faults.add(['backup', 'path'], message);
  }
}

export function warnOfUnused(
  main: ConfigFile,
  outcomes: readonly SourceOutcome[],
  unread: ReadonlyMap<string, string>,
  folder: string,
): void {
  for (const [index, { source, text, unreadable, faulty, held }] of outcomes.entries()) {
    const warn = (message: string) => main.faults.warn(['router_sources', index], message);
    const failure = unread.get(source);
    if (failure !== undefined) warn(`The list of the source "${source}" cannot be read: ${failure}`);
    else if (text === undefined || faulty !== undefined) {
      const reason = unreadable ?? faulty ?? `no list of it is in ${folder}; is this the --storage.path of the agent?`;
      warn(`The routers of the source "${source}" are unknown: ${reason}`);
    }
    if (!held) continue;
    const { missing, of } = held;
    warn(
      `The list of the source "${source}" lacks ${missing} of ${of} routers; the previous list stays in use until the removal is confirmed`,
    );
  }
}

interface CheckedFolder {
  readonly checkedState?: 'written' | 'any' | undefined;
  readonly storagePath?: string | undefined;
}

export async function checkState(
  main: ConfigFile,
  path: string,
  { checkedState, storagePath }: CheckedFolder,
): Promise<void> {
  const at = ['storage', 'path'];
  // Without the key, the agent often gets the folder with `--storage.path`.
  const isNamed = storagePath !== undefined || main.source.valueAt(at) !== undefined;
  if (checkedState === undefined || (checkedState === 'written' && !isNamed)) return;
  const fault = await findFolderFault(path);
  if (fault === undefined) return;
  if (storagePath === undefined) main.faults.add(at, fault);
  else main.faults.add([], `--storage.path: ${fault}`);
}

export async function warnOfFolder(main: ConfigFile, at: KeyPath, path: string): Promise<void> {
  const mode = await stat(path).then(
    (found) => found.mode & PERMISSIONS,
    () => 0,
  );
  const excess = await describeExcessRights(path, mode, 'folder');
  if (excess !== undefined) main.faults.warn(at, excess);
}

export interface Named extends Place {
  readonly name?: unknown;
}

export function toNamed(items: readonly Readonly<Record<string, unknown>>[], file: ConfigFile, list: string): Named[] {
  return items.map(({ name }, index) => ({ file, path: [list, index], name }));
}

export async function checkUnique(
  items: readonly Named[],
  list: 'routers' | 'sinks' | 'router_sources',
): Promise<void> {
  const first = new Map<string, Place>();
  await forEachYielding(items, ({ file, path, name }) => {
    if (typeof name !== 'string') return;
    const place = { file, path: [...path, 'name'] };
    const earlier = first.get(name);
    if (earlier) {
      const where = renderPlace(earlier, file);
      file.faults.add(
        place.path,
        `The name "${name}" is already taken ${where}; each of the ${list} needs a name of its own`,
      );
    } else first.set(name, place);
  });
}
