import { findNearest, renderPlace } from '../../settings/index.ts';
import { MODULES_MAX } from './bounds.ts';
import type { ListedModule } from './module-definition.ts';
import type { ModuleSettings } from './module-schema.ts';

/** A module that routers can have: a shipped one, perhaps with an interval of the user, or one of the user. */
export interface ActiveModule {
  readonly listed: ListedModule;
  readonly settings: ModuleSettings;
  readonly isDefault: boolean;
}

/**
 * Puts the modules of the user beside and over the shipped ones, which come first and keep their order. A module of the
 * user with the name of a shipped one takes its place, in the default set too.
 */
export function collectModules(shipped: readonly ListedModule[], own: readonly ListedModule[]): ActiveModule[] {
  const active = new Map<string, ActiveModule>(
    shipped.map((listed) => {
      const { settings } = listed;
      return [listed.name, { listed, settings, isDefault: settings.default !== false }];
    }),
  );
  const taken = new Map<string, ListedModule>();
  for (const listed of own) {
    const earlier = taken.get(listed.name);
    const { file, path } = listed.place;
    if (earlier) {
      const message = `The name "${listed.name}" is already taken ${renderPlace(earlier.place, file)}; each of the modules needs a name of its own`;
      file.faults.add(path, message, { aim: 'key' });
      continue;
    }
    taken.set(listed.name, listed);
    const below = active.get(listed.name);
    const merged = isSet(listed, 'resources') ? toActive(listed, below) : overrideInterval(listed, below, active);
    if (merged) active.set(listed.name, merged);
    if (active.size > MODULES_MAX) {
      file.faults.add(path, `There are more than ${MODULES_MAX} modules`, { aim: 'key' });
      break;
    }
  }
  return [...active.values()];
}

function toActive(listed: ListedModule, below: ActiveModule | undefined): ActiveModule {
  return { listed, settings: listed.settings, isDefault: below?.isDefault ?? false };
}

/** A shipped module at another pace; `undefined` when that is not what was written. */
function overrideInterval(
  listed: ListedModule,
  below: ActiveModule | undefined,
  active: ReadonlyMap<string, ActiveModule>,
): ActiveModule | undefined {
  const { name, place, settings } = listed;
  const { file, path } = place;
  // What is faulty may only be a misspelt key.
  if (file.faults.covers(path) || file.faults.touches(path)) return undefined;
  if (!below) {
    const nearest = findNearest(name, [...active.keys()]);
    const message = 'Missing key; expected what is read, because no module of this name is shipped';
    file.faults.add([...path, 'resources'], message, { nearest });
    return undefined;
  }
  for (const key of ['help', 'identity'] as const) {
    if (!isSet(listed, key)) continue;
    const message = `"${key}" needs "resources" beside it; of a shipped module only the interval can be changed alone`;
    file.faults.add([...path, key], message, { aim: 'key' });
  }
  if (!isSet(listed, 'interval') && !isSet(listed, 'min_interval')) {
    file.faults.add(
      path,
      'Expected "interval" or "min_interval" to change the shipped module, or "resources" to replace it',
    );
  }
  const { interval, min_interval } = settings;
  return { ...below, settings: { ...below.settings, interval, min_interval } };
}

function isSet({ place: { file, path } }: ListedModule, key: keyof ModuleSettings): boolean {
  return file.source.valueAt([...path, key]) !== undefined;
}
