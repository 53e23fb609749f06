import { type Field, int, radio, text } from '../configuration/field.ts';

/** A manual action: its type and the options that it takes. */
export interface Operation {
  readonly type: string;
  /** All are required unless `optional` names them. */
  readonly options: readonly Field[];
  readonly optional?: readonly string[];
}

const name = text('name', { required: true });
const named = (field: string, maxLen = 100) => text(field, { required: true, maxLen });

/** Every manual action, with the bounds of its options. Fields are described as those of the configuration are. */
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
        options: [name, radio('state_change', ['log_in', 'log_out', 'turn_on', 'turn_off'])],
      },
      { type: 'container_state', options: [name, radio('state_change', ['start', 'stop', 'restart'])] },
      // An option that stands alone mostly bears the name of its type.
      ...['firmware', 'profile', 'ascii', 'cert_reenrollment', 'network_tool'].map((type) => ({
        type,
        options: [named(type)],
      })),
      { type: 'timer', options: [name, radio('change', ['start', 'stop'])] },
      { type: 'counter', options: [name, radio('set', ['reset', 'increment', 'decrement'])] },
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
      { type: 'serge', options: [name, radio('change', ['connect', 'disconnect'])] },
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
