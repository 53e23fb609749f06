import type { ListDefinition, ResourceDefinition } from '../configuration/resource.ts';
import { resourceTable } from '../configuration/resource-table.ts';
import type { Firmware } from '../device/hardware.ts';
import { type Call, jsonAnswer, type PathCalls, queryParameter } from './call.ts';
import { renderAddedSchema, renderChangedSchema, renderConfigSchema } from './configuration-schemas.ts';
import { choiceSchema, listSchema, objectSchema, type Schema, schemaRef, textSchema } from './schema.ts';

const profile = queryParameter('profile', 'The profile that is meant; the running one without it', textSchema());
const returnSize = {
  ...queryParameter('return_size', 'Counts the entries instead of listing them, whatever its value', textSchema()),
  allowEmptyValue: true,
};
const appendScheme = queryParameter(
  'append_scheme',
  'Adds the scheme of the resource: 1, true, yes or on',
  textSchema(),
);

/** The schema of a resource's answers in the components. */
const renderName = ({ path }: ResourceDefinition) => `Config.${path.replaceAll('/', '.')}`;

/** The schemas of all resources, as far as their answers have them. */
export function renderResourceSchemas(): Readonly<Record<string, Schema>> {
  const resources = [...resourceTable.values()];
  return Object.fromEntries(resources.map((resource) => [renderName(resource), renderConfigSchema(resource)]));
}

/** The calls of every configuration resource. */
export function renderConfigurationCalls(firmware: Firmware): Readonly<Record<string, PathCalls>> {
  return Object.fromEntries(
    [...resourceTable.values()].map((resource) => [
      `/configuration/${resource.path}`,
      describeResource(resource, firmware === '9.5'),
    ]),
  );
}

function describeResource(resource: ResourceDefinition, needsListUid: boolean): PathCalls {
  const { path, list, card } = resource;
  const config = schemaRef(renderName(resource));
  const stored = objectSchema({ profile: schemaRef('ProfileFlags'), config });
  const isBound = card === undefined ? {} : { description: `Only routers with the card ${card} have it.` };
  const get: Call = {
    ...isBound,
    summary: `Read ${path}`,
    group: 'read',
    parameters: [profile, ...(list ? [describeFilter(list), returnSize] : []), appendScheme],
    success: {
      200: jsonAnswer(
        'The values of the resource',
        objectSchema(
          {
            profile: schemaRef('ProfileFlags'),
            config: list ? { oneOf: [config, schemaRef('ListSize')] } : config,
            scheme: schemaRef('Scheme'),
          },
          ['scheme'],
        ),
      ),
    },
    refusals: [400, 404],
  };
  const put: Call = {
    ...isBound,
    summary: `Change ${path}`,
    group: 'readwrite',
    parameters: [profile],
    requestBody: renderEnvelope(renderChangedSchema(resource, needsListUid)),
    success: { 200: jsonAnswer('The resource with the change in it', stored) },
    refusals: [400, 404, 500],
  };
  return list ? { get, put, ...describeListCalls(resource, list, stored) } : { get, put };
}

function describeListCalls({ path, unique }: ResourceDefinition, list: ListDefinition, stored: Schema): PathCalls {
  const post: Call = {
    summary: `Add entries to ${path}`,
    group: 'readwrite',
    parameters: [profile],
    requestBody: renderEnvelope(renderAddedSchema(unique, list)),
    success: { 201: jsonAnswer('The resource with the new entries at the end', stored) },
    refusals: [400, 404, 500],
  };
  const levels = ['list', ...(list.sublist ? ['sublist', ...list.sublist.map(({ name }) => name)] : [])];
  const remove: Call = {
    summary: `Delete entries of ${path}`,
    description: 'All of them without a filter.',
    group: 'readwrite',
    parameters: [
      profile,
      describeFilter(list),
      queryParameter('delete', 'The list that loses entries, by name or by a parameter of it', choiceSchema(levels)),
    ],
    success: { 200: { description: 'The entries are gone' } },
    refusals: [400, 404, 500],
  };
  return { post, delete: remove };
}

/** The filter is JSON inside the query. */
function describeFilter({ fields, sublist = [], nameKey = 'name' }: ListDefinition): object {
  const readable = [...fields, ...sublist].filter(({ writeOnly }) => !writeOnly).map(({ name }) => name);
  const identifiers = ['list_uid', nameKey, ...(sublist.length > 0 ? ['sublist_uid'] : [])];
  const condition = objectSchema({
    p: choiceSchema([...new Set([...identifiers, ...readable])]),
    o: choiceSchema(['eq', 'like']),
    v: { oneOf: [textSchema(), listSchema(textSchema(), { minItems: 1, maxItems: 256 })] },
  });
  return {
    name: 'filter',
    in: 'query',
    description: 'Only entries that meet the condition, or every one of a list of conditions; several values mean any',
    content: {
      'application/json': { schema: { oneOf: [condition, listSchema(condition, { minItems: 1, maxItems: 256 })] } },
    },
  };
}

function renderEnvelope(config: Schema): Schema {
  return objectSchema({ profile: schemaRef('ProfileChoice'), config }, ['profile']);
}
