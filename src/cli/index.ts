/**
 * cli: the command line, one file per command.
 *
 * Owns: commands, flags, exit codes, terminal output.
 * Does not own: the work behind a command, and the process itself.
 * Start reading at: program.ts.
 */
export type { CommandIo } from './io.ts';
export { runCli } from './program.ts';
