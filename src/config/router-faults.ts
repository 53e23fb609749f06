import { z } from 'zod';
import { routerSchema } from './router-schema.ts';

/** Returns what is wrong with the keys of a router, which stands in no file yet; without the checks that need other files. */
export function findRouterFaults(router: unknown): string[] {
  const { error } = z.safeParse(routerSchema, router);
  return (error?.issues ?? []).map((issue) => {
    const found: unknown = issue.code === 'custom' ? issue.params?.['found'] : undefined;
    const end = typeof found === 'string' ? `; found ${found}` : '';
    return `${issue.path.join('.')}: Expected ${issue.message}${end}`;
  });
}
