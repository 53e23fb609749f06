const slots = (kind: string, from: number, to: number, rest = ''): string[] =>
  Array.from({ length: to - from + 1 }, (_none, index) => `${kind}${from + index}${rest}`);

/** All status resources of firmware 9.5, below `/status/`. Source: the vendor's OpenAPI document of that firmware. */
export const STATUS_PATHS: readonly string[] = [
  'overview',
  'status_summary',
  'device_info',
  'device_features',
  'sysdetail/system',
  'sysdetail/ip_addresses',
  'sysdetail/dhcp_leases',
  'sysdetail/init_services',
  'sysdetail/container',
  'sysdetail/cert_enrollment',
  'sysstat/wan',
  'sysstat/lan',
  'ethernet1',
  ...slots('ethernet', 3, 5),
  ...slots('sfp', 2, 5),
  ...slots('lte', 2, 5),
  ...slots('lte_serial', 2, 5),
  ...slots('lte', 2, 5, '/providers'),
  ...slots('lte_serial', 2, 5, '/providers'),
  'hspa2',
  'wlan1',
  'wlan1/scan_results',
  ...slots('dsl', 2, 5, '/status'),
  ...slots('dsl', 2, 5, '/statistics_spectrum'),
  ...slots('power', 2, 5),
  ...slots('io', 2, 4),
  ...slots('sio', 3, 5),
  ...slots('adio', 3, 5),
  ...slots('serial', 1, 5),
];

/** Slots of the largest device. */
const SLOTS = [1, 2, 3, 4, 5];

/**
 * Returns the status resources that a path with a star can match, as in `lte*` or `dsl*` in `dsl5/status`: the star is a slot number. A
 * kind of card missing from the list of firmware 9.5 may be in any slot. A path without a star matches itself.
 */
export function expandPath(path: string): readonly string[] {
  if (path.startsWith('/') || !path.includes('*')) return [path];
  const candidates = SLOTS.map((slot) => path.replace('*', String(slot)));
  const known = candidates.filter((candidate) => STATUS_PATHS.includes(candidate));
  return known.length > 0 ? known : candidates;
}
