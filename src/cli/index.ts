/**
 * cli: the command line, one file per command; those of several files have a folder (doctor, bench, demo), those about one
 * router share one (routers).
 *
 * Owns: commands, flags, exit codes, terminal output.
 * Does not own: the work behind a command, and the process itself.
 * Start reading at: program.ts, then the file or folder of a command; terminal/ is input and output.
 */

export { runCli } from './program.ts';
export { openFileOutput } from './terminal/io.ts';
