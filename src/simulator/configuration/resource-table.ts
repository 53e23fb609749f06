import type { ResourceDefinition } from './resource.ts';
import { administrationResources } from './resources-administration.ts';
import { networkResources } from './resources-network.ts';
import { serviceResources } from './resources-services.ts';

/** All configuration resources of simulated routers, by path. Any other path is answered with 404. */
export const resourceTable: ReadonlyMap<string, ResourceDefinition> = new Map(
  [...administrationResources, ...networkResources, ...serviceResources].map((resource) => [resource.path, resource]),
);
