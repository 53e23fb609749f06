import type { Field, ListDefinition, ResourceDefinition } from '../configuration/resource.ts';
import { resourceTable } from '../configuration/resources.ts';
import type { Firmware } from '../device/hardware.ts';
import {
  type Call,
  choiceSchema,
  jsonAnswer,
  listSchema,
  objectSchema,
  type PathCalls,
  partialSchema,
  queryParameter,
  renderFieldSchemas,
  type Schema,
  schemaRef,
  textSchema,
} from './call.ts';

const uid = textSchema({ pattern: '^[0-9a-f]{10}$' });
const flag: Schema = { type: 'boolean' };
const count: Schema = { type: 'integer', minimum: 0 };

const sharedSchemas: Readonly<Record<string, Schema>> = {
  ProfileFlags: objectSchema({ name: textSchema({ minLength: 1 }), last_activated: flag, modified: flag }),
  // Fields of answers next to the name may be sent back.
  ProfileChoice: partialSchema({
    name: textSchema(),
    activate: choiceSchema(['0', '1']),
    last_activated: {},
    modified: {},
  }),
  ListSize: objectSchema({ list_size: count }),
  Descriptor: {
    oneOf: [
      objectSchema({ name: textSchema(), type: choiceSchema(['string', 'peer', 'passwd']), max_len: count }),
      objectSchema({ name: textSchema(), type: choiceSchema(['email_addr', 'checkbox']) }),
      objectSchema({
        name: textSchema(),
        type: choiceSchema(['int']),
        min: { type: 'integer' },
        max: { type: 'integer' },
        steps: { type: 'integer', minimum: 1 },
      }),
      objectSchema({
        name: textSchema(),
        type: choiceSchema(['radio']),
        items: listSchema(objectSchema({ value: textSchema(), translate: flag, label: textSchema() })),
      }),
    ],
  },
  Scheme: objectSchema({
    parameters: objectSchema(
      {
        unique: listSchema(schemaRef('Descriptor')),
        list: listSchema(schemaRef('Descriptor')),
        sublist: listSchema(schemaRef('Descriptor')),
      },
      ['list', 'sublist'],
    ),
  }),
};

/** The part `config` of an answer: single values, and the entries of the list. */
function renderConfigSchema({ unique, list }: ResourceDefinition): Schema {
  return objectSchema({
    ...(unique.length > 0 && { unique: objectSchema(renderFieldSchemas(unique)) }),
    ...(list && { list: listSchema(renderEntrySchema(list)) }),
  });
}

/** The part `config` of POST: entries without identifiers, or new entries for the sublist of a named one. */
function renderAddedSchema(unique: readonly Field[], list: ListDefinition): Schema {
  const { fields, sublist } = list;
  const entry = objectSchema(
    {
      ...renderFieldSchemas(fields),
      ...(sublist && {
        sublist: listSchema(objectSchema(renderFieldSchemas(sublist), listOptional(sublist)), { maxItems: 100 }),
      }),
    },
    [...listOptional(fields), 'sublist'],
  );
  if (!sublist) return renderRequestConfig(unique, listSchema(entry, { minItems: 1 }), ['list']);
  const inner = objectSchema(renderFieldSchemas(sublist), listOptional(sublist));
  const extended = objectSchema(
    { list_uid: uid, name: textSchema(), sublist: listSchema(inner, { minItems: 1, maxItems: 100 }) },
    ['name'],
  );
  return renderRequestConfig(unique, listSchema({ anyOf: [entry, extended] }, { minItems: 1 }), ['list']);
}

/** The part `config` of PUT: single values, and changed fields of named entries; `needsListUid`: named by `list_uid`. */
function renderChangedSchema({ unique, list }: ResourceDefinition, needsListUid: boolean): Schema {
  if (!list) return renderRequestConfig(unique, undefined, []);
  const fields = renderFieldSchemas(list.fields);
  const inner = list.sublist && renderFieldSchemas(list.sublist);
  const innerEntry = inner && objectSchema({ sublist_uid: uid, ...inner }, Object.keys(inner));
  const { nameKey = 'name' } = list;
  const byUid = partialSchema({
    list_uid: uid,
    index: textSchema(),
    ...(nameKey === 'name' && { name: textSchema() }),
    ...fields,
    ...(innerEntry && { sublist: listSchema(innerEntry) }),
  });
  const byIndex = partialSchema({ index: textSchema(), ...(nameKey === 'name' && { name: textSchema() }), ...fields });
  const others = [
    { ...byIndex, required: ['index'] },
    ...(innerEntry
      ? [innerEntry, objectSchema({ index: textSchema(), sublist: listSchema(innerEntry) }, ['index'])]
      : []),
  ];
  const items = { anyOf: [{ ...byUid, required: ['list_uid'] }, ...(needsListUid ? [] : others)] };
  return renderRequestConfig(unique, listSchema(items), []);
}

/** Single values may be in `unique` or next to it. */
function renderRequestConfig(unique: readonly Field[], list: Schema | undefined, required: readonly string[]): Schema {
  const values = renderFieldSchemas(unique);
  const properties = { ...values, unique: partialSchema(values), ...(list && { list }) };
  return {
    ...objectSchema(
      properties,
      Object.keys(properties).filter((name) => !required.includes(name)),
    ),
    minProperties: 1,
  };
}

/** Write-only values appear as hashes in some states of the router, and are missing in the others. */
function renderEntrySchema({ fields, sublist, indexPrefix, nameKey = 'name' }: ListDefinition): Schema {
  return objectSchema(
    {
      list_uid: uid,
      [nameKey]: textSchema({ pattern: `^${indexPrefix}[1-9]\\d*$` }),
      ...renderFieldSchemas(fields),
      ...(sublist && { sublist: listSchema(objectSchema({ sublist_uid: uid, ...renderFieldSchemas(sublist) })) }),
    },
    fields.filter(({ writeOnly }) => writeOnly).map(({ name }) => name),
  );
}

function listOptional(fields: readonly Field[]): string[] {
  return fields.filter(({ required }) => !required).map(({ name }) => name);
}

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

const renderName = ({ path }: ResourceDefinition) => `Config.${path.replaceAll('/', '.')}`;

/** Returns the schemas of the answers of all resources, and the shared ones. */
export function renderResourceSchemas(): Readonly<Record<string, Schema>> {
  const resources = [...resourceTable.values()];
  const own = resources.map((resource) => [renderName(resource), renderConfigSchema(resource)]);
  return { ...sharedSchemas, ...Object.fromEntries(own) };
}

/** Returns the calls of every configuration resource. */
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
