/**
 * cli: the command line, one file per group of commands; commands of several files have a folder.
 *
 * Owns: commands, flags, exit codes, terminal output.
 * Does not own: the work of a command, and the process itself.
 * Start reading at: command-line/program.ts, then the file or folder of a command.
 *
 *   command-line/  program.ts (parsing; run, demo, check, import, schema, simulate, bench, completion), commands.ts (all others),
 *                  options.ts (shared flags and parsers)
 *   doctor/        doctor.ts (command; checks of sinks and state), examination.ts (types, recorder), router-stages.ts and
 *                  log-stages.ts (checks of a router), report.ts (output)
 *   demo/, bench/  commands with simulated routers, which run in child processes
 *   support/       read-config.ts (configuration and clients of its routers), agent-client.ts (requests to a running agent),
 *                  serve.ts (running an agent), service-manager.ts (systemd), other-process.ts (child processes), io.ts, output-file.ts
 */

export { runCli } from './command-line/program.ts';
export { openFileOutput } from './support/io.ts';
