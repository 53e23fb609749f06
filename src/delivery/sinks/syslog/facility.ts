import { SYSLOG_FACILITIES, type SyslogFacility } from '../../../model/index.ts';

/** Number of a facility, 0 to 23. */
export function toFacilityNumber(name: SyslogFacility): number {
  return SYSLOG_FACILITIES.indexOf(name);
}
