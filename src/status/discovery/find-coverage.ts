import { compileModules } from '../mapping/compile-modules.ts';
import type { ModuleDefinition } from '../module-settings/module-definition.ts';
import { expandPath } from '../status-paths.ts';
import type { SeenRowSet } from './explore-documents.ts';

/** Returns the names of the modules that use a field of the rows at a path. */
export type Coverage = (each: string, field: string) => readonly string[];

/** Returns what the modules cover of a resource such as `lte2`, whose documents have these row paths. */
export function findCoverage(
  resource: string,
  rowSets: readonly SeenRowSet[],
  modules: readonly ModuleDefinition[],
): Coverage {
  const outerOf = new Map(rowSets.map(({ each, outer }) => [each.toLowerCase(), outer?.toLowerCase()]));
  const readers = compileModules(modules).flatMap(({ definition: { name }, resources }) =>
    resources
      .filter(({ definition: { path } }) => !path.startsWith('/') && expandPath(path).includes(resource))
      .map((compiled) => ({ module: name, each: compiled.definition.each.toLowerCase(), compiled })),
  );
  return (each, field) => {
    const rowSet = each.toLowerCase();
    const covering = readers.filter(
      (reader) =>
        (reader.each === rowSet && reader.compiled.coversField(field)) ||
        (outerOf.get(reader.each) === rowSet && reader.compiled.coversField(field, 1)),
    );
    return [...new Set(covering.map(({ module }) => module))];
  };
}
