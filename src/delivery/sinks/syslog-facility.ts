/** Names of facilities, in the order of their numbers in RFC 5424, section 6.2.1, from 0. */
const FACILITIES = [
  'kern',
  'user',
  'mail',
  'daemon',
  'auth',
  'syslog',
  'lpr',
  'news',
  'uucp',
  'cron',
  'authpriv',
  'ftp',
  'ntp',
  'audit',
  'alert',
  'clock',
  'local0',
  'local1',
  'local2',
  'local3',
  'local4',
  'local5',
  'local6',
  'local7',
] as const;

export type SyslogFacility = (typeof FACILITIES)[number];

/** Number of a facility, 0 to 23. */
export function toFacilityNumber(name: SyslogFacility): number {
  return FACILITIES.indexOf(name);
}
