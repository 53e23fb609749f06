import type { Hono } from 'hono';
import type { Device } from './device.ts';
import { answerJson, type RestEnv } from './rest-answer.ts';
import { requireGroup } from './rest-auth.ts';

/** Adds what every account may read: the router's own description of its state. */
export function addStatusRoutes(api: Hono<RestEnv>, { hardware }: Device): void {
  api.get('/status/device_info', requireGroup('status'), (context) =>
    answerJson(context, 200, { status: { unique: { device_type: hardware.deviceType }, list: hardware.boards } }),
  );
}
