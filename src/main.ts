import { setFlagsFromString } from 'node:v8';
import { renderErrorChain } from './base/index.ts';
import { openFileOutput, runCli } from './cli/index.ts';

// V8 marks its whole heap after every 64 MiB of new buffers: with thousands of routers, every second. This setting
// makes it collect young buffers at 32 MiB instead of 128 MiB.
setFlagsFromString('--scavenger-max-new-space-capacity-mb=8');

/** 128 + SIGTERM: exit code of a process that a signal ended. */
const EXIT_KILLED = 143;

const stop = new AbortController();
for (const name of ['SIGTERM', 'SIGINT'] as const) {
  process.on(name, () => {
    if (stop.signal.aborted) process.exit(EXIT_KILLED);
    stop.abort();
  });
}
// Without a listener, Node.js opens its debugger on this signal. bin/ has a listener for the time before this module is
// loaded.
process.on('SIGUSR1', () => {});
// Ignore EPIPE on stderr: losing the log must not stop the agent.
process.stderr.on('error', () => {});
// A command that waits only for what does not keep the process alive would otherwise end silently with code 0.
process.once('beforeExit', () => {
  process.stderr.write('router-exporter: the command ended before it had a result; this is a fault of the program\n');
  process.exit(1);
});

try {
  const { stdin, stderr } = process;
  const stdout = openFileOutput(1) ?? process.stdout;
  const onHangup = (listener: () => void) => void process.on('SIGHUP', listener);
  process.exit(await runCli(process.argv.slice(2), { stdin, stdout, stderr, signal: stop.signal, onHangup }));
} catch (cause) {
  process.stderr.write(`router-exporter: ${renderErrorChain(cause)}\n`);
  process.exit(1);
}
