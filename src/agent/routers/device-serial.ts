import type { RouterClient } from '../../router/index.ts';
import { readSerialNumber } from '../../status/index.ts';

/** Reads the serial number of the device that answers now; `undefined` if it does not tell. Throws what the client throws. */
export async function readDeviceSerial(
  client: Pick<RouterClient, 'readStatus'>,
  signal: AbortSignal,
): Promise<string | undefined> {
  return readSerialNumber(await client.readStatus('device_info', signal));
}
