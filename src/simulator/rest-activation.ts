import { setImmediate } from 'node:timers';
import { readWebSettings } from './configuration/web-settings.ts';
import { Fault } from './fault.ts';
import type { RestContext } from './rest-answer.ts';

/**
 * Activates a profile, the running one when none is named. Listeners that it switches on are open before the answer is
 * sent, those that it switches off close after it. When a port cannot be had, the router goes on as before.
 */
export async function activateProfile(context: RestContext, name: string | undefined): Promise<Fault | undefined> {
  const { device, applyWebSettings, outgoing } = context.env;
  const configuration = device.profiles.read(name);
  if (configuration instanceof Fault) return configuration;
  let closeFormer: () => void;
  try {
    closeFormer = await applyWebSettings(readWebSettings(configuration));
  } catch {
    return Fault.of(500, 'profile', 'activation failed: a port of the web interface cannot be had');
  }
  device.profiles.activate(name);
  // A further turn of the event loop lets the last bytes of the answer reach the system.
  outgoing.once('close', () => setImmediate(closeFormer));
  return undefined;
}
