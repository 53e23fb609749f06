import type { Field } from '../configuration/field.ts';
import type { ListDefinition, ResourceDefinition } from '../configuration/resource.ts';
import { renderFieldSchemas } from './field-schema.ts';
import { choiceSchema, listSchema, objectSchema, partialSchema, type Schema, schemaRef, textSchema } from './schema.ts';

const uid = textSchema({ pattern: '^[0-9a-f]{10}$' });
const flag: Schema = { type: 'boolean' };
const count: Schema = { type: 'integer', minimum: 0 };

/** Schemas that all configuration resources share. */
export const sharedConfigurationSchemas: Readonly<Record<string, Schema>> = {
  ProfileFlags: objectSchema({ name: textSchema({ minLength: 1 }), last_activated: flag, modified: flag }),
  // What answers carry beside the name may be sent back.
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

/** The part `config` of an answer: every single value, and the entries of the list. */
export function renderConfigSchema({ unique, list }: ResourceDefinition): Schema {
  return objectSchema({
    ...(unique.length > 0 && { unique: objectSchema(renderFieldSchemas(unique)) }),
    ...(list && { list: listSchema(renderEntrySchema(list)) }),
  });
}

/** The part `config` of POST: entries without identifiers, or new entries for the sublist of one that is named. */
export function renderAddedSchema(unique: readonly Field[], list: ListDefinition): Schema {
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

/**
 * The part `config` of PUT: single values, and entries that name themselves and bring what is to change; `needsListUid`: by
 * their `list_uid`.
 */
export function renderChangedSchema({ unique, list }: ResourceDefinition, needsListUid: boolean): Schema {
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

/** Single values may stand in `unique` or beside it. */
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

/** Write-only values show as hashes in some states of the router, and are missing in the others. */
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
