import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Program, startProgram } from '../child.ts';
import { findFreePort } from '../free-port.ts';

export interface Nginx extends AsyncDisposable {
  readonly port: number;
}

/**
 * Starts nginx in a folder of its own with one server on loopback. `server` is what stands in its block `server`, with
 * `$PORT` and `$FOLDER` replaced; `files` are put into the folder first.
 */
export async function startNginx(server: string, files: Readonly<Record<string, string>> = {}): Promise<Nginx> {
  const folder = mkdtempSync(join(tmpdir(), 'router-exporter-nginx-'));
  const port = await findFreePort();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: 0o644 });
  const scratch = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  const config = `
daemon off;
worker_processes 1;
pid ${folder}/pid;
error_log stderr notice;
${process.getuid?.() === 0 ? 'user root;' : ''}
events { worker_connections 64; }
http {
  ${scratch.join('\n  ')}
  access_log off;
  server {
    ${server.replaceAll('$PORT', String(port)).replaceAll('$FOLDER', folder)}
  }
}
`;
  writeFileSync(join(folder, 'nginx.conf'), config);
  const program: Program = startProgram('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr']);
  const stop = async () => {
    program.process.kill('SIGTERM');
    await program.ended;
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await program.waitFor('stderr', /start worker process \d/);
  } catch (cause) {
    await stop();
    throw cause;
  }
  return { port, [Symbol.asyncDispose]: stop };
}
