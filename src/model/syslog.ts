/** Names of the syslog facilities, in the order of their numbers in RFC 5424 (section 6.2.1), from 0. */
export const SYSLOG_FACILITIES = [
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
/** Facilities of syslog by name. */
export type SyslogFacility = (typeof SYSLOG_FACILITIES)[number];
