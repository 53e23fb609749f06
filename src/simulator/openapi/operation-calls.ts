import { type Operation, operations } from '../rest/operation-table.ts';
import { jsonAnswer, type PathCalls } from './call.ts';
import { renderFieldSchemas } from './field-schema.ts';
import { choiceSchema, objectSchema, type Schema, schemaRef } from './schema.ts';

/** Methods of `/operation` that take no parameters. */
const BARE_METHODS = ['create_support_package', 'enable_require_signing', 'start_ids_test_period'];
const done = (description: string) => ({ 201: jsonAnswer(description, objectSchema({})) });
const renderName = (type: string) => `Action.${type}`;

/** Parameters of each manual action. */
export function renderActionSchemas(): Readonly<Record<string, Schema>> {
  return Object.fromEntries(
    [...operations.values()].map((operation) => [renderName(operation.type), renderAction(operation)]),
  );
}

/** Manual actions, restart and reset. */
export function renderOperationCalls(): Readonly<Record<string, PathCalls>> {
  const actions = [...operations.keys()].map((type) => schemaRef(renderName(type)));
  const mapping = Object.fromEntries(
    [...operations.keys()].map((type) => [type, `#/components/schemas/${renderName(type)}`]),
  );
  return {
    '/operation': {
      post: {
        summary: 'Carry out an action',
        group: 'readwrite',
        requestBody: {
          oneOf: [
            objectSchema({
              method: choiceSchema(['manual_action']),
              params: { oneOf: actions, discriminator: { propertyName: 'type', mapping } },
            }),
            objectSchema({ method: choiceSchema(BARE_METHODS), params: {} }, ['params']),
          ],
        },
        success: done('The action is carried out'),
        refusals: [400, 404, 500],
      },
    },
    '/reboot': {
      post: {
        summary: 'Restart the router',
        description: 'All tokens are lost.',
        group: 'readwrite',
        success: done('The router restarts'),
        refusals: [],
      },
    },
    '/reset': {
      post: {
        summary: 'Delete all logs',
        group: 'readwrite',
        requestBody: objectSchema({ logs: { oneOf: [{ type: 'boolean', enum: [true] }, choiceSchema(['1'])] } }),
        success: done('The logs are gone'),
        refusals: [400],
      },
    },
  };
}

function renderAction({ type, options, optional = [] }: Operation): Schema {
  const fields = options.map((field) => ({ ...field, required: !optional.includes(field.name) }));
  const isFree = fields.every(({ required }) => !required);
  return objectSchema(
    { type: choiceSchema([type]), options: objectSchema(renderFieldSchemas(fields), optional) },
    isFree ? ['options'] : [],
  );
}
