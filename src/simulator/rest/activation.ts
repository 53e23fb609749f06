import { setImmediate } from 'node:timers';
import { readWebSettings } from '../configuration/web-settings.ts';
import type { RestContext } from './answer.ts';
import { Rejection } from './rejection.ts';

/**
 * Activates a profile, by default the running one. Listeners that it enables are open before the answer is sent, those
 * that it disables close after it. If a port is not available, the router continues as before.
 */
export async function activateProfile(context: RestContext, name: string | undefined): Promise<Rejection | undefined> {
  const { device, applyWebSettings, outgoing } = context.env;
  const configuration = device.profiles.read(name);
  if (configuration instanceof Rejection) return configuration;
  let closeFormer: () => void;
  try {
    closeFormer = await applyWebSettings(readWebSettings(configuration));
  } catch {
    return Rejection.of(500, 'profile', 'activation failed: a port of the web interface cannot be had');
  }
  device.profiles.activate(name);
  // One more turn of the event loop lets the system take the last bytes of the answer.
  outgoing.once('close', () => setImmediate(closeFormer));
  return undefined;
}
