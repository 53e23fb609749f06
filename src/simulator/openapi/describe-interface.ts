import type { Firmware } from '../device/hardware.ts';
import { BARE_METHODS, type Operation, operations } from '../rest/operation.ts';
import {
  choiceSchema,
  describeRefusals,
  jsonAnswer,
  listSchema,
  METHODS,
  objectSchema,
  type PathCalls,
  queryParameter,
  refusalSchema,
  renderCall,
  renderFieldSchemas,
  type Schema,
  schemaRef,
  textSchema,
} from './call.ts';
import { renderConfigurationCalls, renderResourceSchemas } from './configuration-calls.ts';
import { profileCalls, profileListSchema } from './profile-calls.ts';
import { renderStatusCalls } from './status-calls.ts';

const done = (description: string) => ({ 201: jsonAnswer(description, objectSchema({})) });
const renderName = (type: string) => `Action.${type}`;

function renderActionSchemas(): Readonly<Record<string, Schema>> {
  return Object.fromEntries(
    [...operations.values()].map((operation) => [renderName(operation.type), renderAction(operation)]),
  );
}

function renderOperationCalls(): Readonly<Record<string, PathCalls>> {
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

const header = (name: string, description: string) => ({ name, in: 'header', description, schema: textSchema() });
const plain = { schema: textSchema() };
const bytes = { schema: textSchema({ format: 'binary' }) };
const answerHeader = { schema: textSchema() };
const disposition = { 'Content-Disposition': answerHeader };

/** Ranges and entity tags exist only on some routers. */
const logCalls: Readonly<Record<string, PathCalls>> = {
  '/download/log': {
    get: {
      summary: 'List the log files, or download one of them',
      group: 'read',
      parameters: [
        {
          ...queryParameter('list_files', 'Lists the files, whatever its value', textSchema()),
          allowEmptyValue: true,
        },
        queryParameter('log_file', 'The file to download: a path from the list', textSchema({ minLength: 1 })),
        header('Range', 'One range of bytes'),
        header('If-Range', 'The entity tag that the range is meant for'),
        header('If-None-Match', 'The entity tag of what the client has'),
      ],
      success: {
        200: {
          description: 'The list, the text of a file that is being written, or a compressed file',
          headers: { ...disposition, ETag: answerHeader, 'Accept-Ranges': answerHeader },
          content: {
            'application/json': {
              schema: objectSchema({
                log_files: listSchema(textSchema({ pattern: '^[^/]+/[^/]+$' })),
              }),
            },
            'text/plain': plain,
            'application/octet-stream': bytes,
          },
        },
        206: {
          description: 'A part of the file',
          headers: { ...disposition, ETag: answerHeader, 'Content-Range': answerHeader },
          content: { 'text/plain': plain, 'application/octet-stream': bytes },
        },
        304: { description: 'The client has this very file', headers: { ETag: answerHeader } },
      },
      refusals: [400, 404, 416],
    },
  },
};

const storedFileCalls: Readonly<Record<string, PathCalls>> = {
  '/firmware': {
    get: {
      summary: 'List the firmware files',
      group: 'read',
      success: {
        200: jsonAnswer(
          'The files; the active one is running',
          objectSchema({
            firmware: listSchema(
              objectSchema({
                name: textSchema({ minLength: 1 }),
                type: choiceSchema(['icom_os', 'dsl_firmware', 'cellular_firmware']),
                icom_os_type: choiceSchema(['full', 'incremental']),
                required_major: textSchema(),
                installable: { type: 'boolean' },
                state: choiceSchema(['stable', 'beta', 'test']),
                active: { type: 'boolean' },
              }),
            ),
          }),
        ),
      },
      refusals: [],
    },
  },
  '/container/container': {
    get: {
      summary: 'List the containers',
      group: 'read',
      success: {
        200: jsonAnswer(
          'The containers',
          objectSchema({
            container: listSchema(objectSchema({ designator: textSchema(), downloadable: { type: 'boolean' } })),
          }),
        ),
      },
      refusals: [],
    },
  },
};

const tokensSchema = objectSchema({
  access: textSchema({ description: 'Authenticates all other calls for five minutes' }),
  refresh: textSchema({ description: 'Gives one new pair of tokens' }),
});

const token = 'The token stands in the header Authorization.';

const authCalls: Readonly<Record<string, PathCalls>> = {
  '/auth/login': {
    post: {
      summary: 'Open a session',
      description: 'After a failed attempt the name is locked for some seconds.',
      group: undefined,
      requestBody: objectSchema({ username: textSchema(), password: textSchema() }),
      success: { 200: jsonAnswer('The tokens of the session', schemaRef('Tokens')) },
      refusals: [400],
    },
  },
  '/auth/refresh': {
    post: {
      summary: 'Exchange a refresh token',
      description: `${token} It counts once.`,
      group: 'status',
      success: { 200: jsonAnswer('New tokens of the same session', schemaRef('Tokens')) },
      refusals: [],
    },
  },
  '/auth/logout': {
    post: {
      summary: 'End a session',
      description: `${token} Either token of the session does.`,
      group: 'status',
      success: { 200: jsonAnswer('Neither token counts any more', objectSchema({})) },
      refusals: [],
    },
  },
};

/** Options of the description. */
export interface DescriptionOptions {
  /** Default `9.5`. */
  readonly firmware?: Firmware;
}

/**
 * Returns the interface of simulated routers as OpenAPI 3.0.3. It covers every card in every slot, like the description of a real device,
 * so a router answers some of the paths with 404. Configuration resources and actions come from the tables that the routers themselves
 * use. Fields that another firmware leaves out are optional.
 */
export function describeInterface({ firmware = '9.5' }: DescriptionOptions = {}): object {
  const calls: Readonly<Record<string, PathCalls>> = {
    ...authCalls,
    ...renderConfigurationCalls(firmware),
    ...renderStatusCalls(),
    ...logCalls,
    ...profileCalls,
    ...storedFileCalls,
    ...renderOperationCalls(),
  };
  return {
    openapi: '3.0.3',
    info: {
      title: 'REST interface of simulated routers',
      version: firmware,
      description: 'All cards of all devices; a router answers for those that it has.',
    },
    servers: [
      {
        url: '{protocol}://{ip}:{port}/api/v2_0',
        variables: {
          protocol: { enum: ['https', 'http'], default: 'https' },
          ip: { default: '192.168.1.1' },
          port: { default: '443' },
        },
      },
    ],
    security: [{ bearer: [] }],
    paths: Object.fromEntries(Object.entries(calls).map(([path, item]) => [path, renderPath(path, item)])),
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
      responses: describeRefusals(),
      schemas: {
        Refusal: refusalSchema,
        Tokens: tokensSchema,
        ProfileList: profileListSchema,
        ...renderResourceSchemas(),
        ...renderActionSchemas(),
      },
    },
  };
}

function renderPath(path: string, calls: PathCalls): object {
  return Object.fromEntries(
    METHODS.flatMap((method) => {
      const call = calls[method];
      return call ? [[method, renderCall(path, method, call)] as const] : [];
    }),
  );
}
