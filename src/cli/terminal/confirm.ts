import { createInterface } from 'node:readline/promises';
import { type CommandIo, EXIT, type ExitCode } from './io.ts';

/**
 * Asks for confirmation of an irreversible action. Resolves to `undefined` when it is confirmed, else to the exit code to end
 * with: that of wrong usage without a terminal to ask on, with a hint on stderr.
 */
export async function confirm(question: string, isAgreed: boolean, io: CommandIo): Promise<ExitCode | undefined> {
  if (isAgreed) return undefined;
  if (!io.stdin.isTTY) {
    io.stderr.write(`${question}\nThere is no terminal to ask on; add --yes to do it.\n`);
    return EXIT.usage;
  }
  const reader = createInterface({ input: io.stdin, output: io.stderr });
  try {
    const answer = await reader.question(`${question} [y/N] `, { signal: io.signal });
    return /^y(es)?$/i.test(answer.trim()) ? undefined : EXIT.failed;
  } catch {
    // Ctrl-C and Ctrl-D mean no.
    return EXIT.failed;
  } finally {
    reader.close();
  }
}
