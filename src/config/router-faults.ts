import { z } from 'zod';
import { routerSchema } from './router-schema.ts';

/** Returns what is wrong with the keys of a router, which stands in no file yet; without the checks that need other files. */
export function findRouterFaults(router: unknown): string[] {
  const { error } = z.safeParse(routerSchema, router);
  return (error?.issues ?? []).map(({ path, message }) => `${path.join('.')}: Expected ${message}`);
}
