import type { Firmware } from '../device/hardware.ts';
import { authCalls, tokensSchema } from './auth-calls.ts';
import { describeRefusals, METHODS, type PathCalls, refusalSchema, renderCall } from './call.ts';
import { renderConfigurationCalls, renderResourceSchemas } from './configuration-calls.ts';
import { sharedConfigurationSchemas } from './configuration-schemas.ts';
import { logCalls } from './log-calls.ts';
import { renderActionSchemas, renderOperationCalls } from './operation-calls.ts';
import { profileCalls, profileListSchema } from './profile-calls.ts';
import { renderStatusCalls } from './status-calls.ts';

/** Options of the description. */
export interface DescriptionOptions {
  /** The firmware that is described. Default `9.5`. */
  readonly firmware?: Firmware;
}

/**
 * The interface of simulated routers in the form of OpenAPI 3.0.3. It covers every card in every slot, as the description
 * of a real device does, so a given router answers some of the paths with 404. Configuration resources and actions come
 * from the tables that the routers themselves work with. What another version of the firmware leaves out is optional.
 */
export function describeInterface({ firmware = '9.5' }: DescriptionOptions = {}): object {
  const calls: Readonly<Record<string, PathCalls>> = {
    ...authCalls,
    ...renderConfigurationCalls(firmware),
    ...renderStatusCalls(),
    ...logCalls,
    ...profileCalls,
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
        ...sharedConfigurationSchemas,
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
