import { renderErrorChain } from '../base/index.ts';
import { FleetExposition } from '../exposition/index.ts';
import { STATUS_RESOURCES } from '../status/index.ts';
import { withRouter } from './connect.ts';
import { type CommandIo, EXIT, type ExitCode, writeResult } from './io.ts';

export interface StatusFlags {
  readonly configFile: string;
  readonly router: string;
  /** Paths of status resources; none: those that the agent reads. */
  readonly resources: readonly string[];
  /** Shows the series instead of the documents. */
  readonly asMetrics: boolean;
}

/** `status`: what a router says about itself, as it says it or as metrics. */
export function status(flags: StatusFlags, io: CommandIo): Promise<ExitCode> {
  return withRouter(flags.configFile, flags.router, io, async ({ settings, client }) => {
    const names = flags.resources.length > 0 ? flags.resources : STATUS_RESOURCES.map(({ name }) => name);
    const exposition = new FleetExposition();
    const documents: Record<string, unknown> = {};
    let exitCode: ExitCode = EXIT.done;
    for (const name of names) {
      const resource = STATUS_RESOURCES.find((known) => known.name === name);
      try {
        const document = await (resource ? resource.read(client, io.signal) : client.readStatus(name, io.signal));
        documents[name] = document;
        exposition.publish(settings, name, resource?.toFamilies(document) ?? []);
      } catch (cause) {
        io.signal.throwIfAborted();
        io.stderr.write(`${name}: ${renderErrorChain(cause)}\n`);
        exitCode = EXIT.failed;
      }
    }
    const only = flags.resources.length === 1 ? documents[flags.resources[0] ?? ''] : documents;
    if (flags.asMetrics) await writeResult(exposition.render(0), io);
    else if (Object.keys(documents).length > 0) await writeResult(`${JSON.stringify(only, null, 2)}\n`, io);
    return exitCode;
  });
}
