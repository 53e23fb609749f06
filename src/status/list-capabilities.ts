import type { CapabilityMemory } from './capability-memory.ts';
import type { PollPlan } from './poll-plan.ts';
import type { ResourceCapability } from './poll-result.ts';

/**
 * Lists what a router is known to have. For a path with a star only the existing slots are listed or, if there are
 * none, the path itself.
 */
export function listCapabilities({ targets, patterns }: PollPlan, memory: CapabilityMemory): ResourceCapability[] {
  const ofTargets = targets.flatMap(({ name, isNamed, isOptional }): ResourceCapability[] => {
    const known = memory.get(name);
    if (known === undefined || (known === 'unsupported' && !isNamed)) return [];
    return [{ resource: name, isSupported: known !== 'unsupported', isPermitted: known !== 'forbidden', isOptional }];
  });
  const ofPatterns = patterns
    .filter(({ names }) => names.every((name) => memory.get(name) === 'unsupported'))
    .map(({ path, isOptional }) => ({ resource: path, isSupported: false, isPermitted: true, isOptional }));
  return [...ofTargets, ...ofPatterns];
}
