import { readEntries } from '../configuration/fresh.ts';
import type { Values } from '../configuration/resource.ts';
import { type Device, restartDevice } from '../device/device.ts';
import type { ModemOrder } from '../life/modem.ts';
import { CHOSEN_CHAIN } from '../life/wan.ts';
import { Rejection } from './rejection.ts';

type Perform = (device: Device, options: Values) => Rejection | undefined;

const notFound = (key: string) => Rejection.of(400, key, 'not found');

/** Value of a selection if nothing is chosen. */
const NO_SELECTION = '---';
const findModemFault = (device: Device, modem: string) =>
  modem === NO_SELECTION || device.life.modems.has(modem) ? undefined : notFound('modem');

/** Effects of actions on a simulated router. An action that is not here is accepted and changes nothing. */
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
    // Without a selection the router chooses by itself again: no chain has this name.
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

/** Carries out a manual action whose options have been checked. */
export function performOperation(device: Device, type: string, options: Values): Rejection | undefined {
  return Object.hasOwn(effects, type) ? effects[type]?.(device, options) : undefined;
}
