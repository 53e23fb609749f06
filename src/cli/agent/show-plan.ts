import { renderErrorChain, toPrintable } from '../../base/index.ts';
import { type CommandIo, EXIT, type ExitCode, writeResult } from '../terminal/io.ts';
import { type AgentFlags, AgentRequestError, askAgent } from './agent-client.ts';

const OK = 200;

/** `check --diff`: prints what a reload of a running agent would change. It reads its files again, and changes nothing. */
export async function showPlan(flags: AgentFlags & { readonly isJson: boolean }, io: CommandIo): Promise<ExitCode> {
  try {
    const accept = flags.isJson ? 'application/json' : 'text/plain';
    const { status, text } = await askAgent(flags, { method: 'POST', path: '/-/reload?dry_run=1', accept }, io.signal);
    if (status === OK) {
      await writeResult(flags.isJson ? `${text.trimEnd()}\n` : toPrintable(text, true), io);
      return EXIT.done;
    }
    io.stderr.write(`${toPrintable(text.trimEnd(), true)}\n`);
    return EXIT.failed;
  } catch (cause) {
    if (!(cause instanceof AgentRequestError)) throw cause;
    io.stderr.write(`${renderErrorChain(cause)}\n`);
    return cause.code === 'flags' ? EXIT.usage : EXIT.failed;
  }
}
