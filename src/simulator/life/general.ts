import { readEntries, readValue } from '../configuration/fresh.ts';
import type { LifeContext } from './life-context.ts';
import { pickInteger } from './signal.ts';
import type { StatusBody } from './status-body.ts';
import { describeWan } from './wan.ts';

const LEASES_MAX = 12;
const LEASE_MS = 3_600_000;
const ENROLLED_DAYS = 365;

/** `device_info`: the type, and one row per board. */
export function describeDevice({ hardware }: LifeContext): StatusBody {
  return { unique: { device_type: hardware.deviceType }, list: hardware.boards.map((board) => ({ ...board })) };
}

/** `overview` and `status_summary`. */
export function describeOverview(life: LifeContext): StatusBody {
  const { hardware, configuration, settings } = life;
  return {
    unique: {
      device_type: hardware.deviceType,
      firmware_version: hardware.firmware,
      serial_number: hardware.serial,
      hostname: readValue(configuration, 'administration/hostnames', 'hostname'),
      wan: describeWan(life).unique?.['name'] ?? '---',
      info_led: settings.get('info_led') ?? 'off',
    },
  };
}

/** `device_features`: which kinds of cards and functions there are. */
export function describeFeatures({ hardware }: LifeContext): StatusBody {
  const features = [...new Set(hardware.cards.map((card) => card.replace(/\d$/, '')))];
  return { list: [...features, 'container', 'openvpn', 'ipsec'].map((name) => ({ name, available: 'yes' })) };
}

/** `sysdetail/dhcp_leases`: devices come and go by the hour. */
export function describeLeases(life: LifeContext): StatusBody {
  const { key, clock } = life;
  const hour = Math.floor(clock.uptimeMs() / LEASE_MS);
  const count = pickInteger(`${key}/leases/${hour}`, 1, LEASES_MAX);
  return {
    list: Array.from({ length: count }, (_none, position) => ({
      ip_address: `192.168.1.${100 + position}`,
      mac_address: `02:05:b6:00:00:${(position + 16).toString(16)}`,
      hostname: position % 3 === 2 ? '' : `device-${position + 1}`,
      expires: `${LEASE_MS / 1000 - Math.floor((clock.uptimeMs() % LEASE_MS) / 1000)} s`,
      interface: 'net1',
    })),
  };
}

/** `sysstat/lan`: the local networks. */
export function describeLan({ configuration }: LifeContext): StatusBody {
  const nets = readEntries(configuration, 'interfaces/ip_nets').filter(({ fields }) => fields['mode'] === 'static');
  return { list: nets.map(({ index }) => ({ if_name: index, state: 'online' })) };
}

/** `sysdetail/container`. */
export function describeContainers({ configuration, settings }: LifeContext): StatusBody {
  return {
    list: readEntries(configuration, 'administration/container').map(({ fields }) => {
      const name = fields['name'] ?? '';
      const configured = fields['active'] === '1' ? 'running' : 'stopped';
      return { name, state: settings.get(`container/${name}`) ?? configured };
    }),
  };
}

/** `sysdetail/init_services` and `sysdetail/cert_enrollment`. */
export function describeServices(): StatusBody {
  return { list: ['restd', 'httpd', 'eventd'].map((name) => ({ name, state: 'running' })) };
}

export function describeEnrollment({ key }: LifeContext): StatusBody {
  return { list: [{ name: 'device_cert', state: 'valid', days_left: String(pickInteger(key, 30, ENROLLED_DAYS)) }] };
}
