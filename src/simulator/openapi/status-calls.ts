import { type Call, jsonAnswer, type PathCalls } from './call.ts';
import { objectSchema, type Schema } from './schema.ts';
import { cardKinds, generalStatus } from './status-schemas.ts';

/** The status resources of all cards in all slots; a router answers for the cards that it has. */
export function renderStatusCalls(): Readonly<Record<string, PathCalls>> {
  const general = Object.entries(generalStatus).map(([resource, schema]) => describe(resource, schema, []));
  const cards = cardKinds.flatMap(({ name, slots, resources }) =>
    slots.flatMap((slot) =>
      Object.entries(resources).map(([rest, schema]) => describe(`${name}${slot}${rest}`, schema, [404])),
    ),
  );
  return Object.fromEntries([...general, ...cards]);
}

function describe(resource: string, schema: Schema, refusals: Call['refusals']): [string, PathCalls] {
  const get: Call = {
    summary: `Read the status of ${resource}`,
    group: 'status',
    success: { 200: jsonAnswer('The state at this moment; all values are text', objectSchema({ status: schema })) },
    refusals,
  };
  return [`/status/${resource}`, { get }];
}
