import { SYSLOG_FACILITIES } from '../../../model/index.ts';
import { checkTls, hostAndPort, tls } from '../../../net/index.ts';
import { byteSizeWithin, checked, choice, isToken, type Place, type SoundOf } from '../../../settings/index.ts';
import { batch, format, replay, timeout } from '../common-keys.ts';
import { sinkSchema } from '../define-sink.ts';

/** Size that every collector must accept (RFC 5424 section 6.1). */
const MESSAGE_BYTES_LEAST = 480;
const MESSAGE_BYTES_MOST = 1024 ** 2;
/** Limit of RFC 5424 section 6. */
const APP_NAME_CHARS_MAX = 48;
/** Maximum payload of a datagram over IPv4. */
const UDP_PAYLOAD_BYTES_MAX = 65_507;

/** A sink of type `syslog`. */
export const syslogSchema = sinkSchema(
  'syslog',
  'A syslog collector (RFC 5424). Syslog has no acknowledgements, so messages in flight may be lost when a connection breaks.',
  {
    address: hostAndPort({ description: 'Host and port of the collector.' }),
    protocol: choice({ description: 'Transport of the messages.' }, ['tcp', 'tls', 'udp']).prefault('tcp'),
    facility: choice({ description: 'Facility of the messages.' }, SYSLOG_FACILITIES).prefault('local0'),
    app_name: checked(
      { description: 'APP-NAME of the messages.', kind: 'name' },
      'a name of printable ASCII characters without blanks',
      APP_NAME_CHARS_MAX,
      isToken,
    ).prefault('router-exporter'),
    // Common collectors accept it; the recommended minimum is 2048 bytes (RFC 5424 section 6.1).
    message_max: byteSizeWithin(
      { description: 'Maximum size of a message; longer ones are truncated. `udp` carries at most 65507 bytes.' },
      MESSAGE_BYTES_LEAST,
      MESSAGE_BYTES_MOST,
      '8KiB',
    ).prefault('8KiB'),
    // Covers the messages that may be in flight when a connection breaks.
    replay: replay(
      '5s',
      'Messages of this last period are sent again from the spool after a broken connection or a restart of the agent, because it is unknown whether they arrived. 0 = none. With `udp`, nothing is sent again.',
    ),
    timeout,
    tls,
    format: format(['native']),
    // Messages are not acknowledged in batches.
    batch: batch({ recordsMax: 500, bytesMax: 256 * 1024, waitMs: 0 }),
  },
);

/** Rejects combinations of keys. */
export function checkSyslog(place: Place, { protocol, message_max, tls: section }: SoundOf<typeof syslogSchema>): void {
  const { file, path } = place;
  if (protocol === 'udp' && (message_max ?? 0) > UDP_PAYLOAD_BYTES_MAX) {
    const message = `A datagram of "protocol: udp" has at most ${UDP_PAYLOAD_BYTES_MAX} bytes`;
    file.faults.add([...path, 'message_max'], message);
  }
  const isDefault = file.source.valueAt([...path, 'protocol']) === undefined;
  // An invalid protocol may have been meant as TLS.
  const isPlain = protocol !== undefined && protocol !== 'tls';
  checkTls(place, section, isPlain ? `"protocol" is "${protocol}"${isDefault ? ' by default' : ''}` : undefined);
}
