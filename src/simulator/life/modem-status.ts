import type { LifeContext } from './life-context.ts';
import type { Modem } from './modem.ts';
import { pickInteger, wander } from './signal.ts';
import type { StatusBody } from './status-body.ts';

const SIGNAL_PERIOD_MS = 60_000;
const CELL_PERIOD_MS = 3_600_000;
const NETWORKS = [
  { provider: '26201', provider_name: 'Telekom.de' },
  { provider: '26202', provider_name: 'Vodafone.de' },
  { provider: '23201', provider_name: 'A1' },
] as const;
const NOT_NOW = 'Not available at the moment';

/**
 * `lteN` and `lte_serialN`. What is unknown has the device's sentinels. Firmware 9.5 reports the three LTE values without
 * units, 6.1 with units, 5.5 not at all.
 */
export function describeModem(life: LifeContext, card: string, modem: Modem): StatusBody {
  const { key, clock, hardware, settings } = life;
  const seed = `${key}/${card}`;
  const uptimeMs = clock.uptimeMs();
  const { state, isRegistered, isPowered } = modem.view(uptimeMs);
  const quality = wander(`${seed}/signal`, uptimeMs, SIGNAL_PERIOD_MS);
  const signal = Math.round(8 + quality * 23);
  const unit = (text: string) => (hardware.firmware === '6.1' ? ` ${text}` : '');
  const known = (value: string, sentinel: string) => (isRegistered ? value : sentinel);
  const network = NETWORKS[pickInteger(`${seed}/network`, 0, NETWORKS.length - 1)] ?? NETWORKS[0];
  const cell = pickInteger(`${seed}/cell/${Math.floor(uptimeMs / CELL_PERIOD_MS)}`, 1_000_000, 30_000_000);
  const simIsReady = isPowered && state !== 'Turned on' && state !== 'SIM interface down';
  return {
    unique: {
      state,
      provider: known(network.provider, '0'),
      provider_name: known(network.provider_name, ''),
      used_net: known(signal > 14 ? 'LTE' : 'UMTS', NOT_NOW),
      cell_id: known(String(cell), '0'),
      location_id: known(pickInteger(`${seed}/area`, 4096, 65_000).toString(16).toUpperCase(), ''),
      signal: known(String(signal), '99'),
      RSSI: known(`${-113 + 2 * signal}${unit('dBm')}`, '99'),
      ...(hardware.firmware !== '5.5' && {
        RSRP: known(`${-120 + Math.round(quality * 45)}${unit('dBm')}`, ''),
        RSRQ: known(`${-18 + Math.round(quality * 12)}${unit('dB')}`, ''),
        SINR: known(`${Math.round(quality * 22)}${unit('dB')}`, ''),
      }),
      sim_state: simIsReady ? 'SIM ready' : 'SIM missing or SIM failure',
      pin_state: simIsReady ? 'PIN ok' : 'SIM missing or SIM failure',
      pin_retries: simIsReady ? '3' : '0',
      IMEI: isPowered ? `35${pickInteger(`${seed}/imei`, 1_000_000_000_000, 9_999_999_999_999)}` : '',
      IMSI: simIsReady ? `${network.provider}${pickInteger(`${seed}/imsi`, 1_000_000_000, 9_999_999_999)}` : '',
      USIM: simIsReady ? `8949${pickInteger(`${seed}/usim`, 1e14, 9e14)}0` : '',
      used_sim: simIsReady ? 'SIM 1' : '',
      temperature: isPowered ? String(Math.round(34 + 14 * wander(`${seed}/heat`, uptimeMs, CELL_PERIOD_MS))) : '0',
      input_voltage_1: `${(23.4 + 0.7 * wander(`${seed}/supply`, uptimeMs, SIGNAL_PERIOD_MS)).toFixed(2)} V`,
      // Combined cards have digital lines of their own.
      ...(card.startsWith('lte_serial') && {
        input_1: wander(`${seed}/input`, uptimeMs, CELL_PERIOD_MS) > 0.5 ? 'high' : 'low',
        output_1: settings.get('output/2.1') ?? 'open',
      }),
    },
  };
}
