import type { FamilyDescription } from '../../model/index.ts';
import { type Place, renderPlace, toFamilyName } from '../../settings/index.ts';
import type { ListedModule } from './module-definition.ts';

/** A metric of a module, and where it is written. */
export interface PlacedFamily extends FamilyDescription {
  readonly module: string;
  readonly place: Place;
}

/**
 * Refuses a metric whose name another metric, or the agent, has for something else. Names are compared as OpenMetrics does,
 * where a counter `a_total`, an info metric `a_info` and a gauge `a` are all the family `a`.
 */
export function checkFamilies(families: readonly PlacedFamily[], agentFamilies: readonly FamilyDescription[]): void {
  const ofAgent = new Map(agentFamilies.map((family) => [toFamilyName(family), family.name]));
  const first = new Map<string, PlacedFamily>();
  for (const family of families) {
    const { file, path } = family.place;
    const key = toFamilyName(family);
    const agentName = ofAgent.get(key);
    if (agentName !== undefined) {
      const as =
        agentName === family.name ? 'this metric' : `${agentName}, which OpenMetrics cannot tell from this one`;
      file.faults.add([...path, 'name'], `The agent itself exposes ${as}; choose another name`);
      continue;
    }
    const other = first.get(key);
    if (!other) first.set(key, family);
    else refuseDifference(family, other);
  }
}

function refuseDifference(family: PlacedFamily, other: PlacedFamily): void {
  const { file, path } = family.place;
  const place = `of the module "${other.module}" ${renderPlace(other.place, file)}`;
  if (other.name !== family.name) {
    const message = `OpenMetrics cannot tell this name from ${other.name} ${place}; choose another one`;
    file.faults.add([...path, 'name'], message);
  } else if (other.type !== family.type) {
    const message = `${family.name} ${place} has the type "${other.type}"; a name has one type everywhere`;
    file.faults.add([...path, 'type'], message);
  } else if (other.help !== family.help) {
    const message = `${family.name} ${place} has another help; a name has one help everywhere`;
    file.faults.add([...path, 'help'], message);
  }
}

/** The metrics of a module that are sound. */
export function listFamilies({ name: module, settings, place }: ListedModule): PlacedFamily[] {
  return (settings.resources ?? []).flatMap(({ metrics = [] }, resource) =>
    metrics.flatMap(({ name, help, type }, metric) => {
      if (name === undefined || help === undefined || type === undefined) return [];
      const path = [...place.path, 'resources', resource, 'metrics', metric];
      return [{ name, help, type, module, place: { file: place.file, path } }];
    }),
  );
}
