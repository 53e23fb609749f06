import type { Hono } from 'hono';
import { ValueCheck } from '../configuration/check-values.ts';
import type { Values } from '../configuration/resource.ts';
import { ACTIONS_MAX, restartDevice } from '../device/device.ts';
import { activateProfile } from './activation.ts';
import { answerJson, answerRejection, type RestContext, type RestEnv, readBody } from './answer.ts';
import { requireGroup } from './auth.ts';
import { isRecord, parseJsonObject } from './json.ts';
import { operations } from './operation-table.ts';
import { performOperation } from './perform-operation.ts';
import { Rejection } from './rejection.ts';

/** Methods that take no parameters and change nothing that a simulated router has. */
const BARE_METHODS = ['create_support_package', 'enable_require_signing', 'start_ids_test_period'];

/** Adds manual actions, restart and reset. */
export function addOperationRoutes(api: Hono<RestEnv>): void {
  const mayWrite = requireGroup('readwrite');
  api.post('/operation', mayWrite, async (context) => {
    const fault = await operate(context, await readBody(context));
    return fault ? answerRejection(context, fault) : answerJson(context, 201, {});
  });
  api.post('/reboot', mayWrite, (context) => {
    restartDevice(context.env.device);
    return answerJson(context, 201, {});
  });
  api.post('/reset', mayWrite, async (context) => {
    const parsed = parseJsonObject(await readBody(context), ['logs']);
    if (parsed instanceof Rejection) return answerRejection(context, parsed);
    const { logs } = parsed;
    if (logs !== true && logs !== '1')
      return answerRejection(context, Rejection.of(400, 'logs', 'must be true: it is all that can be reset'));
    context.env.device.logs.deleteAll();
    return answerJson(context, 201, {});
  });
}

async function operate(context: RestContext, body: string | Rejection): Promise<Rejection | undefined> {
  const parsed = parseJsonObject(body, ['method', 'params']);
  if (parsed instanceof Rejection) return parsed;
  const { method, params } = parsed;
  if (typeof method !== 'string') return Rejection.of(400, 'method', 'a string is required');
  if (BARE_METHODS.includes(method)) return undefined;
  if (method !== 'manual_action') return Rejection.of(400, 'method', 'unknown method');
  if (!isRecord(params)) return Rejection.of(400, 'params', 'an object is required');
  const { type, options = {}, ...others } = params;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return Rejection.of(400, unknown.slice(0, 100), 'unknown parameter');
  const operation = typeof type === 'string' ? operations.get(type) : undefined;
  if (!operation) return Rejection.of(400, 'type', 'unknown type of action');
  if (!isRecord(options)) return Rejection.of(400, 'options', 'must be an object');
  const check = new ValueCheck();
  const isOptional = (name: string) => operation.optional?.includes(name);
  const fields = operation.options.map((field) => ({ ...field, required: !isOptional(field.name) }));
  const values = check.complete(fields, options);
  if (check.fault) return check.fault;
  const { device } = context.env;
  const fault =
    operation.type === 'profile'
      ? await activateProfile(context, values['profile'])
      : performOperation(device, operation.type, values);
  if (!fault && device.actions.length < ACTIONS_MAX) {
    device.actions.push({ type: operation.type, options: options as Values });
  }
  return fault;
}
