import { writeBody } from './api.ts';
import { withRouter } from './connect.ts';
import { type CommandIo, EXIT, type ExitCode, writeResult } from './io.ts';
import { renderTable } from './table.ts';

/** `profiles list`: the stored profiles of a router. */
export function listProfiles(
  flags: { readonly configFile: string; readonly router: string; readonly isJson: boolean },
  io: CommandIo,
): Promise<ExitCode> {
  return withRouter(flags.configFile, flags.router, io, async ({ client }) => {
    const profiles = await client.listProfiles(io.signal);
    const rows = profiles.map(({ name, lastActivated, modified }) => [
      name,
      renderFlag(lastActivated),
      renderFlag(modified),
    ]);
    await writeResult(
      flags.isJson
        ? `${JSON.stringify(profiles, null, 2)}\n`
        : renderTable(['PROFILE', 'LAST ACTIVATED', 'MODIFIED'], rows),
      io,
    );
    return EXIT.done;
  });
}

/** `profiles download`: a stored profile into a file that only its owner can read, because it holds secrets. */
export function downloadProfile(
  flags: {
    readonly configFile: string;
    readonly router: string;
    readonly profile: string;
    readonly output: string;
    readonly format: 'binary' | 'ascii' | undefined;
  },
  io: CommandIo,
): Promise<ExitCode> {
  return withRouter(flags.configFile, flags.router, io, async ({ client }) => {
    const { profile, output, format } = flags;
    await client.downloadProfile(
      profile,
      { ...(format && { format }) },
      (body) => writeBody(body, output, io),
      io.signal,
    );
    io.stderr.write(`Wrote ${output}. It holds secrets of the router: keep it private.\n`);
    return EXIT.done;
  });
}

/** Firmware that does not send a flag leaves it open. */
function renderFlag(flag: boolean | undefined): string {
  return flag === undefined ? '?' : flag ? 'yes' : 'no';
}
