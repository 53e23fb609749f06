import * as units from '@grafana/grafana-foundation-sdk/units';
import * as kit from '../kit/index.ts';
import { of } from './overview.ts';

export const cellular: kit.Section = {
  title: 'Cellular',
  panels: [
    kit.timeline({
      title: 'State of the modem',
      description: 'State of the modem, the network it is registered with, and its SIM card.',
      width: 24,
      height: 6,
      unit: units.NoUnit,
      limits: kit.NEUTRAL,
      queries: [
        { expr: `max by (modem, state) (${of('router_modem_state')}) == 1`, legend: '{{modem}} {{state}}' },
        {
          expr: `max by (modem, provider_name) (${of('router_modem_info')})`,
          legend: '{{modem}} {{provider_name}}',
        },
        {
          expr: `max by (modem, access_technology) (${of('router_modem_access_technology')})`,
          legend: '{{modem}} {{access_technology}}',
        },
        { expr: `max by (modem, used_sim) (${of('router_modem_used_sim')})`, legend: '{{modem}} {{used_sim}}' },
      ],
    }),
    ...(
      [
        [
          'RSRP',
          'router_modem_rsrp_dbm',
          units.DecibelMilliWatt,
          kit.RSRP,
          'Received power of the LTE reference signal: distance to the cell, and the antenna.',
        ],
        [
          'RSRQ',
          'router_modem_rsrq_db',
          units.Decibel,
          kit.RSRQ,
          'Quality of the LTE reference signal: low with a good RSRP means a busy cell.',
        ],
        [
          'SINR',
          'router_modem_sinr_db',
          units.Decibel,
          kit.SINR,
          'Signal to interference and noise ratio; limits the speed.',
        ],
        [
          'RSSI',
          'router_modem_rssi_dbm',
          units.DecibelMilliWatt,
          kit.RSSI,
          'Received strength of everything on the channel, in all technologies.',
        ],
      ] as const
    ).map(([title, metric, unit, limits, description]) =>
      kit.trend({
        title,
        description,
        width: 6,
        unit,
        limits,
        showsLimits: true,
        queries: [{ expr: of(metric), legend: '{{modem}}' }],
      }),
    ),
  ],
};

const traffic = (metric: string) => `max by (interface) (rate(${of(metric)}[$__rate_interval]))`;

export const interfaces: kit.Section = {
  title: 'WAN, ports and traffic',
  panels: [
    kit.timeline({
      title: 'WAN chain in use',
      description:
        'WAN chain with the default route. Another band than usual means that the router is on its fallback.',
      width: 12,
      unit: units.NoUnit,
      queries: [{ expr: `max by (chain) (${of('router_wan_active_info')}) == 1`, legend: '{{chain}}' }],
    }),
    kit.timeline({
      title: 'Interfaces of the chain',
      description: 'State of the interfaces of the chain in use, including tunnels.',
      width: 12,
      unit: units.NoUnit,
      limits: kit.YES_WANTED,
      mappings: kit.UP_OR_DOWN,
      queries: [{ expr: `max by (interface) (${of('router_wan_chain_member_online')})`, legend: '{{interface}}' }],
    }),
    kit.trend({
      title: 'Received',
      description: 'Received traffic by interface. Counters of dialled interfaces are reset at each connection.',
      width: 8,
      unit: units.BytesPerSecondIEC,
      min: 0,
      queries: [{ expr: traffic('router_interface_receive_bytes_total'), legend: '{{interface}}' }],
    }),
    kit.trend({
      title: 'Sent',
      description: 'Sent traffic by interface.',
      width: 8,
      unit: units.BytesPerSecondIEC,
      min: 0,
      queries: [{ expr: traffic('router_interface_transmit_bytes_total'), legend: '{{interface}}' }],
    }),
    kit.trend({
      title: 'Faulty packets',
      description: 'Packets received with errors or not sent, by interface: check cables, ports, radio.',
      width: 8,
      unit: units.PacketsPerSecond,
      min: 0,
      limits: kit.ZERO_WANTED,
      queries: [
        { expr: traffic('router_interface_receive_errors_total'), legend: '{{interface}} received' },
        { expr: traffic('router_interface_transmit_errors_total'), legend: '{{interface}} sent' },
      ],
    }),
    kit.timeline({
      title: 'Ports',
      description: 'Links of Ethernet and optical ports.',
      width: 12,
      height: 8,
      unit: units.NoUnit,
      limits: kit.YES_WANTED,
      mappings: kit.UP_OR_DOWN,
      queries: [
        { expr: `max by (resource, port) (${of('router_port_link_up')})`, legend: '{{resource}} port {{port}}' },
      ],
    }),
    kit.trend({
      title: 'What the logs tell',
      description:
        'Changes of WAN chains, modems and tunnels, starts and failed logins in log lines since the agent began to count. The patterns for these lines are heuristics.',
      width: 12,
      unit: units.NoUnit,
      min: 0,
      queries: [
        { expr: `sum(${of('router_log_wan_changes_total')})`, legend: 'changes of the WAN' },
        { expr: `sum by (state) (${of('router_log_modem_changes_total')})`, legend: 'modem {{state}}' },
        { expr: `sum by (state) (${of('router_log_vpn_changes_total')})`, legend: 'tunnel {{state}}' },
        { expr: `sum(${of('router_log_reboots_total')})`, legend: 'starts' },
        { expr: `sum by (result) (${of('router_log_logins_total')})`, legend: 'logins: {{result}}' },
      ],
    }),
  ],
};

export const system: kit.Section = {
  title: 'System',
  panels: [
    kit.trend({
      title: 'Uptime',
      description: 'Drops to zero when the router starts.',
      width: 6,
      unit: units.DurationSeconds,
      min: 0,
      limits: kit.UPTIME,
      queries: [{ expr: of('router_uptime_seconds'), legend: 'uptime' }],
    }),
    kit.trend({
      title: 'Load',
      description: 'Load averages, if the device reports them.',
      width: 6,
      unit: units.Short,
      min: 0,
      queries: [
        { expr: of('router_load1'), legend: '1 minute' },
        { expr: of('router_load5'), legend: '5 minutes' },
        { expr: of('router_load15'), legend: '15 minutes' },
      ],
    }),
    kit.trend({
      title: 'Processor and memory',
      description: 'Shares in use. Devices report memory in bytes or as a share.',
      width: 6,
      unit: units.PercentUnit,
      min: 0,
      max: 1,
      limits: kit.FILLING,
      showsLimits: true,
      queries: [
        { expr: of('router_cpu_used_ratio'), legend: 'processor' },
        {
          expr: `${of('router_memory_used_bytes')} / ${of('router_memory_total_bytes')} or ${of('router_memory_used_ratio')}`,
          legend: 'memory',
        },
      ],
    }),
    kit.trend({
      title: 'Temperatures',
      description: 'Temperature of modems and optical transceivers.',
      width: 6,
      unit: units.Celsius,
      limits: kit.MODEM_HEAT,
      showsLimits: true,
      queries: [
        { expr: of('router_modem_temperature_celsius'), legend: '{{modem}}' },
        { expr: of('router_sfp_temperature_celsius'), legend: '{{resource}} port {{port}}' },
      ],
    }),
    kit.trend({
      title: 'Supply voltage',
      description: 'Voltage at the supply inputs. A slow decrease indicates a battery, a sudden one a fuse.',
      width: 8,
      unit: units.Volt,
      min: 0,
      queries: [{ expr: of('router_supply_volts'), legend: '{{resource}} input {{input}}' }],
    }),
    kit.timeline({
      title: 'Inputs and outputs',
      description: 'High digital inputs and closed digital outputs.',
      width: 8,
      height: 8,
      unit: units.NoUnit,
      mappings: kit.ON_OR_OFF,
      queries: [
        { expr: of('router_digital_input_high'), legend: '{{resource}} input {{channel}}' },
        { expr: of('router_digital_output_closed'), legend: '{{resource}} output {{channel}}' },
      ],
    }),
    kit.stat({
      title: 'Flash memory well',
      description: 'State of the flash memory as reported by the router.',
      width: 4,
      height: 8,
      unit: units.NoUnit,
      limits: kit.YES_WANTED,
      mappings: kit.YES_OR_NO,
      queries: [{ expr: `min(${of('router_flash_ok')})`, legend: 'flash' }],
    }),
    kit.stat({
      title: 'DHCP leases',
      description: 'DHCP leases of the router: the number of devices behind it.',
      width: 4,
      height: 8,
      unit: units.NoUnit,
      queries: [{ expr: `sum(${of('router_dhcp_leases')})`, legend: 'leases' }],
    }),
  ],
};
