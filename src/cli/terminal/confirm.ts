import { createInterface } from 'node:readline/promises';
import type { CommandIo } from './io.ts';

/**
 * Asks for confirmation of an irreversible action. Without a terminal the answer is no, with a hint on stderr. Resolves to
 * true when the action is confirmed.
 */
export async function confirm(question: string, isAgreed: boolean, io: CommandIo): Promise<boolean> {
  if (isAgreed) return true;
  if (!io.stdin.isTTY) {
    io.stderr.write(`${question}\nThere is no terminal to ask on; add --yes to do it.\n`);
    return false;
  }
  const reader = createInterface({ input: io.stdin, output: io.stderr });
  try {
    const answer = await reader.question(`${question} [y/N] `, { signal: io.signal });
    return /^y(es)?$/i.test(answer.trim());
  } catch {
    // Ctrl-C and Ctrl-D mean no.
    return false;
  } finally {
    reader.close();
  }
}
