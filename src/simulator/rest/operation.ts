import type { Hono } from 'hono';
import { ValueCheck } from '../configuration/request-body.ts';
import { type Field, int, radio, text, type Values } from '../configuration/resource.ts';
import { readEntries } from '../configuration/state.ts';
import { ACTIONS_MAX, type Device, restartDevice } from '../device/device.ts';
import { CHOSEN_CHAIN } from '../life/general.ts';
import type { ModemOrder } from '../life/life-context.ts';
import { isRecord, parseJsonObject, Rejection } from '../rejection.ts';
import { activateProfile, answerJson, answerRejection, type RestContext, type RestEnv, readBody } from './answer.ts';
import { requireGroup } from './auth.ts';

/** A manual action with its options. */
export interface Operation {
  readonly type: string;
  /** All are required except those in `optional`. */
  readonly options: readonly Field[];
  readonly optional?: readonly string[];
}

const nameField = text('name', { required: true });
const named = (field: string, maxLen = 100) => text(field, { required: true, maxLen });

/** Every manual action, with the bounds of its options. Fields are described like those of the configuration. */
export const operations: ReadonlyMap<string, Operation> = new Map(
  (
    [
      ...['ntp_sync', 'reboot', 'auto_update', 'port_mirror', 'ssid_scan'].map((type) => ({ type, options: [] })),
      {
        type: 'set_time',
        options: [
          int('hour', 0, 23, 0),
          int('minute', 0, 59, 0),
          int('second', 0, 59, 0),
          int('year', 2000, 2100, 2000),
          int('month', 1, 12, 1),
          int('day', 1, 31, 1),
        ],
      },
      { type: 'info_led', options: [radio('info_led', ['flash', 'off', 'on'])] },
      { type: 'message', options: [named('message')] },
      { type: 'sms', options: [named('modem'), named('recipient'), named('text', 140)] },
      { type: 'email', options: [named('recipient'), named('subject'), named('text', 5000)] },
      { type: 'wan_chain', options: [named('wan_chain')] },
      {
        type: 'modem_state',
        options: [nameField, radio('state_change', ['log_in', 'log_out', 'turn_on', 'turn_off'])],
      },
      { type: 'container_state', options: [nameField, radio('state_change', ['start', 'stop', 'restart'])] },
      // A single option usually has the name of its type.
      ...['firmware', 'profile', 'ascii', 'cert_reenrollment', 'network_tool'].map((type) => ({
        type,
        options: [named(type)],
      })),
      { type: 'timer', options: [nameField, radio('change', ['start', 'stop'])] },
      { type: 'counter', options: [nameField, radio('set', ['reset', 'increment', 'decrement'])] },
      {
        type: 'output',
        options: [
          named('output'),
          radio('change', ['toggle', 'open', 'close', 'pulses']),
          int('pulses', 1, 255, 1),
          int('periode', 200, 5000, 200, 100),
        ],
        optional: ['pulses', 'periode'],
      },
      { type: 'analog_output', options: [named('output'), named('value')] },
      { type: 'serge', options: [nameField, radio('change', ['connect', 'disconnect'])] },
      {
        type: 'sleep',
        options: [int('hours', 0, 23, 0), int('minutes', 0, 59, 0), int('seconds', 0, 59, 0)],
        optional: ['hours', 'minutes', 'seconds'],
      },
      { type: 'device_counter', options: [radio('name', ['boots_since_reset', 'online_count_since_reset'])] },
      { type: 'provider_scan', options: [named('modem')] },
    ] satisfies Operation[]
  ).map((operation: Operation) => [operation.type, operation]),
);

type Perform = (device: Device, options: Values) => Rejection | undefined;

const notFound = (key: string) => Rejection.of(400, key, 'not found');

/** Value of a selection if nothing is chosen. */
const NO_SELECTION = '---';
const findModemFault = (device: Device, modem: string) =>
  modem === NO_SELECTION || device.life.modems.has(modem) ? undefined : notFound('modem');

/** Effects of actions on a simulated router. Other actions are accepted and change nothing. */
const effects: Readonly<Record<string, Perform>> = {
  reboot: (device) => {
    restartDevice(device);
    return undefined;
  },
  ntp_sync: ({ clock }) => {
    clock.synchronize();
    return undefined;
  },
  set_time: ({ clock }, options) => {
    const number = (name: string) => Number(options[name]);
    const [month, day] = [number('month') - 1, number('day')];
    const wallMs = Date.UTC(number('year'), month, day, number('hour'), number('minute'), number('second'));
    if (new Date(wallMs).getUTCDate() !== day) return Rejection.of(400, 'day', 'is no day of this month');
    clock.setLocal(wallMs);
    return undefined;
  },
  info_led: ({ life }, { info_led = '' }) => void life.settings.set('info_led', info_led),
  message: ({ profiles }, { message }) => {
    const known = readEntries(profiles.active, 'events/messages').map(({ fields }) => fields['name']);
    return known.includes(message) ? undefined : notFound('message');
  },
  sms: (device, { modem = '' }) => findModemFault(device, modem),
  provider_scan: (device, { modem = '' }) => findModemFault(device, modem),
  wan_chain: ({ life, profiles }, { wan_chain = '' }) => {
    const isKnown = readEntries(profiles.active, 'wan/wans').some(({ index }) => index === wan_chain);
    if (!isKnown && wan_chain !== NO_SELECTION) return notFound('wan_chain');
    // Without a selection the router chooses by itself: no chain has this name.
    life.settings.set(CHOSEN_CHAIN, wan_chain);
    return undefined;
  },
  modem_state: ({ life, clock }, { name = '', state_change }) => {
    const modem = life.modems.get(name);
    if (!modem) return notFound('name');
    modem.follow(state_change as ModemOrder, clock.uptimeMs());
    return undefined;
  },
  container_state: ({ life, profiles }, { name = '', state_change }) => {
    const known = readEntries(profiles.active, 'administration/container').map(({ fields }) => fields['name']);
    if (!known.includes(name)) return notFound('name');
    life.settings.set(`container/${name}`, state_change === 'stop' ? 'stopped' : 'running');
    return undefined;
  },
  output: ({ life }, { output = '', change }) => {
    if (!/^[2-5]\.[1-9]$/.test(output)) return Rejection.of(400, 'output', 'must be slot.number');
    const topic = `output/${output}`;
    const toggled = life.settings.get(topic) === 'closed' ? 'open' : 'closed';
    if (change !== 'pulses')
      life.settings.set(topic, change === 'toggle' ? toggled : change === 'open' ? 'open' : 'closed');
    return undefined;
  },
  analog_output: ({ life }, { output = '', value = '' }) => {
    if (!/^[2-5]\.[1-9]$/.test(output)) return Rejection.of(400, 'output', 'must be slot.number');
    life.settings.set(`analog/${output}`, value);
    return undefined;
  },
  serge: ({ life }, { name = '', change }) => {
    if (!/^serial[1-5]\.[1-9]$/.test(name)) return Rejection.of(400, 'name', 'must be serialX.Y');
    life.settings.set(`serge/${name}`, change === 'connect' ? 'connected' : 'disconnected');
    return undefined;
  },
};

/** The options must have been checked. */
function performOperation(device: Device, type: string, options: Values): Rejection | undefined {
  return Object.hasOwn(effects, type) ? effects[type]?.(device, options) : undefined;
}

/** Methods that take no parameters and change nothing on a simulated router. */
export const BARE_METHODS = ['create_support_package', 'enable_require_signing', 'start_ids_test_period'];

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
