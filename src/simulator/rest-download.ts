import type { Hono } from 'hono';
import type { Device } from './device.ts';
import type { LogDownload } from './device-logs.ts';
import { answerBytes, answerFault, answerJson, type RestEnv } from './rest-answer.ts';
import { requireGroup } from './rest-auth.ts';

/** Adds the list of log files, their download, and the list of profiles. */
export function addDownloadRoutes(api: Hono<RestEnv>, { logs, profiles }: Device): void {
  api.get('/profiles', requireGroup('read'), (context) => answerJson(context, 200, { profiles }));
  api.get('/download/log', requireGroup('read'), async (context) => {
    if (context.req.query('list_files') !== undefined) return answerJson(context, 200, { log_files: logs.list() });
    const path = context.req.query('log_file');
    if (!path) return answerFault(context, 400, 'log_file', 'must be given');
    const file = await logs.read(path);
    if (!file) return answerFault(context, 404, 'log_file', 'not found');
    return answerBytes(context, 200, file.bytes, renderFileHeaders(path, file));
  });
}

/** The live file is offered under its component's name, a rotated one under its own. */
function renderFileHeaders(path: string, { kind }: LogDownload): Record<string, string> {
  const [component = '', name = ''] = path.split('/');
  const filename = name === 'current' ? `${component}.txt` : name;
  return {
    'Content-Type': kind === 'plain' ? 'text/plain' : 'application/octet-stream',
    'Content-Disposition': `attachment; filename=${filename}`,
  };
}
