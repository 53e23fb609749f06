import type { Hono } from 'hono';
import type { Firmware } from '../device/hardware.ts';
import { answerBytes, type RestEnv } from '../rest/answer.ts';
import { describeInterface } from './describe-interface.ts';

/** Outside the interface, beside its root. */
const DESCRIPTION_PATH = '/openapi.json';

/** All routers of one firmware offer the same file, so there are as many as firmwares. */
const rendered = new Map<Firmware, Buffer>();

/**
 * Lets every router offer the description of its interface, without a token, and neither counted nor logged: it is no
 * call of the interface. Real devices offer it in their web interface only, for a person to download.
 */
export function addDescriptionRoute(app: Hono<RestEnv>): void {
  app.get(DESCRIPTION_PATH, (context) => {
    const { hardware, clock } = context.env.device;
    context.header('Date', clock.httpDate());
    return answerBytes(context, 200, renderDescription(hardware.firmware), { 'Content-Type': 'application/json' });
  });
}

function renderDescription(firmware: Firmware): Buffer {
  let bytes = rendered.get(firmware);
  if (!bytes) {
    bytes = Buffer.from(JSON.stringify(describeInterface({ firmware })));
    rendered.set(firmware, bytes);
  }
  return bytes;
}
